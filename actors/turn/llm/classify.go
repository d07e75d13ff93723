package llm

import (
	"strings"
)

// Category sorts the text of a failure.
type Category string

// The categories, in the order in which Classify tries them.
const (
	CategoryAuth            Category = "auth"
	CategoryBilling         Category = "billing"
	CategoryRateLimit       Category = "rate_limit"
	CategoryContextOverflow Category = "context_overflow"
	CategoryTimeout         Category = "timeout"
	CategoryServerError     Category = "server_error"
	CategoryNotInstalled    Category = "not_installed"
	CategoryUnknown         Category = "unknown"
)

// Transient reports whether the same request may succeed later.
func (c Category) Transient() bool {
	return c == CategoryRateLimit || c == CategoryTimeout || c == CategoryServerError
}

// Classify sorts the text of a failure; the first match wins, case does not
// count. Source: the table of runtime.md 3.
func Classify(text string) Category {
	s := strings.ToLower(text)
	again := strings.Contains(s, "try again")
	switch {
	case holds(s, "unauthorized", "authentication", "invalid api key", "api key", "not authenticated", "login"):
		return CategoryAuth
	case holds(s, "billing", "insufficient credits", "quota exceeded", "payment required"),
		strings.Contains(s, "402") && !again:
		return CategoryBilling
	case holds(s, "rate limit", "too many requests", "429", "overloaded"),
		again && strings.Contains(s, "minutes"):
		return CategoryRateLimit
	case strings.Contains(s, "context") && holds(s, "too long", "exceed", "overflow", "limit"),
		holds(s, "max_tokens", "maximum context length"):
		return CategoryContextOverflow
	case holds(s, "timeout", "timed out", "deadline exceeded", "econnreset", "socket hang up"):
		return CategoryTimeout
	case holds(s, "500", "502", "503", "internal server error", "service unavailable", "bad gateway"):
		return CategoryServerError
	case holds(s, "not found", "not recognized", "no such file", "command not found"):
		return CategoryNotInstalled
	}
	return CategoryUnknown
}

// maxSummaryChars bounds Summary. Source: runtime.md 3.
const maxSummaryChars = 200

// Summary returns the first non-empty line of a failure, at most 200
// characters.
func Summary(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if r := []rune(line); len(r) > maxSummaryChars {
			return string(r[:maxSummaryChars])
		}
		return line
	}
	return ""
}

// WantsFailover reports whether a failed turn may be tried again on a smaller
// model of the same provider: its text speaks of load on the model and not of
// the account, whose limits a smaller model shares. Source: runtime.md 7.
func WantsFailover(text string) bool {
	s := strings.ToLower(text)
	if holds(s, "quota", "credit balance", "insufficient_quota", "usage limit", "billing") {
		return false
	}
	return holds(s, "rate limit", "rate_limit", "rate-limit", "429", "overloaded", "overload_error", "tokens per minute")
}

// FailoverModel returns the model to fall back to, the first of the catalogue
// (the provider's model ids in catalogue order) that fits the table of
// runtime.md 7, and false when there is none. It never returns model itself.
// A route prefix as OpenRouter writes it ("anthropic/") is looked past.
func FailoverModel(model string, catalogue []string) (string, bool) {
	name := bareModel(model)
	var want func(string) bool
	switch {
	case strings.HasPrefix(name, "claude-opus"):
		want = startsWith("claude-sonnet")
	case strings.HasPrefix(name, "claude-sonnet"):
		want = startsWith("claude-haiku")
	case name == "o3", strings.HasPrefix(name, "o3-"):
		want = startsWith("gpt-5.5")
	case holds(name, "mini") && !strings.HasPrefix(name, "minimax"):
		return "", false
	case strings.HasPrefix(name, "gpt-5"), strings.HasPrefix(name, "chatgpt-5"), strings.HasPrefix(name, "gpt-4o"):
		want = startsWith("o4-mini")
	case strings.HasPrefix(name, "minimax"):
		want = startsWith("minimax")
	default:
		return "", false
	}
	for _, c := range catalogue {
		if n := bareModel(c); n != name && want(n) {
			return c, true
		}
	}
	return "", false
}

func bareModel(model string) string {
	m := strings.ToLower(strings.TrimSpace(model))
	if i := strings.LastIndexByte(m, '/'); i >= 0 {
		m = m[i+1:]
	}
	return m
}

func startsWith(prefix string) func(string) bool {
	return func(s string) bool { return strings.HasPrefix(s, prefix) }
}

func holds(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
