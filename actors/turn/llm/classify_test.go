package llm

import (
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text      string
		want      Category
		transient bool
	}{
		{"Anthropic API error (401): invalid x-api-key Unauthorized", CategoryAuth, false},
		{"Please LOGIN first", CategoryAuth, false},
		{"Insufficient credits", CategoryBilling, false},
		{"openrouter API error (402): pay", CategoryBilling, false},
		{"402, try again in 5 minutes", CategoryRateLimit, true},
		{"openai API error (429): slow", CategoryRateLimit, true},
		{"Overloaded", CategoryRateLimit, true},
		{"the context is too long", CategoryContextOverflow, false},
		{"max_tokens is too large", CategoryContextOverflow, false},
		{"ETIMEDOUT: timed out", CategoryTimeout, true},
		{"openai API error (503): ", CategoryServerError, true},
		{"bash: foo: command not found", CategoryNotInstalled, false},
		{"something else", CategoryUnknown, false},
		{"", CategoryUnknown, false},
	} {
		if got := Classify(tc.text); got != tc.want || got.Transient() != tc.transient {
			t.Errorf("Classify(%q) = %s, transient %t; want %s, %t", tc.text, got, got.Transient(), tc.want, tc.transient)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"\n  \n first \nsecond", "first"},
		{"", ""},
		{strings.Repeat("\u00e9", 300), strings.Repeat("\u00e9", 200)},
	} {
		if got := Summary(tc.in); got != tc.want {
			t.Errorf("Summary(%.20q) = %.20q; want %.20q", tc.in, got, tc.want)
		}
	}
}

func TestWantsFailover(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want bool
	}{
		{"Anthropic API error (429): rate_limit_error", true},
		{"Overloaded", true},
		{"Rate limit reached: tokens per minute", true},
		{"openai API error (429): insufficient_quota", false},
		{"Your credit balance is too low", false},
		{"usage limit reached, rate limit", false},
		{"429 billing hard limit", false},
		{"The provider sent nothing for 120 s; send again to retry.", false},
		{"boom", false},
	} {
		if got := WantsFailover(tc.text); got != tc.want {
			t.Errorf("WantsFailover(%q) = %t; want %t", tc.text, got, tc.want)
		}
	}
}

func TestFailoverModel(t *testing.T) {
	t.Parallel()
	claude := []string{"claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-sonnet-5"}
	gpt := []string{"gpt-5.5", "chatgpt-5.4", "gpt-4o", "o3", "o4-mini"}
	for _, tc := range []struct {
		model     string
		catalogue []string
		want      string
	}{
		{"claude-opus-4-8", claude, "claude-sonnet-4-6"},
		{"Claude-Sonnet-5", claude, "claude-haiku-4-5"},
		{"claude-haiku-4-5", claude, ""},
		{"o3", gpt, "gpt-5.5"},
		{"o3-pro", gpt, "gpt-5.5"},
		{"o3-mini", gpt, "gpt-5.5"},
		{"gpt-5.5", gpt, "o4-mini"},
		{"chatgpt-5.4", gpt, "o4-mini"},
		{"gpt-5-mini", gpt, ""},
		{"gpt-4o", gpt, "o4-mini"},
		{"gpt-4o-mini", gpt, ""},
		{"o4-mini", gpt, ""},
		{"MiniMax-M3", []string{"MiniMax-M3", "MiniMax-M2.5"}, "MiniMax-M2.5"},
		{"MiniMax-M3", []string{"MiniMax-M3"}, ""},
		{"anthropic/claude-opus-4.8", []string{"openrouter/auto", "anthropic/claude-sonnet-4.6"}, "anthropic/claude-sonnet-4.6"},
		{"qwen3:32b", []string{"qwen3:8b"}, ""},
		{"gpt-5.5", nil, ""},
		{"demo", []string{"demo"}, ""},
	} {
		if got, ok := FailoverModel(tc.model, tc.catalogue); got != tc.want || ok != (tc.want != "") {
			t.Errorf("FailoverModel(%q) = %q, %t; want %q", tc.model, got, ok, tc.want)
		}
	}
}
