package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
)

// longHistory holds every kind of block, a refused call, an image, stored
// reasoning of two wires and two user messages in a row.
func longHistory() []Message {
	return []Message{
		Text(RoleUser, "List <the> files & go"),
		{Role: RoleAssistant, Blocks: []Block{
			{Type: BlockReasoning, Details: json.RawMessage(`{"compat_provider":"openrouter","reasoning_content":"r","reasoning_details":[{"type":"reasoning.text","text":"r"}],"extra_content":{"c1":{"g":1}}}`)},
			{Type: BlockText, Text: "On it."},
			{Type: BlockToolUse, ID: "c1", Name: "list_directory", Arguments: json.RawMessage(`{"path":"."}`)},
			{Type: BlockToolUse, ID: "c2", Name: "bash", Arguments: json.RawMessage(`{"command":"ls \u003e x"}`)},
		}},
		{Role: RoleTool, Blocks: []Block{
			{Type: BlockToolResult, ID: "c1", Name: "list_directory", Content: "a.go"},
			{Type: BlockToolResult, ID: "c2", Name: "bash", Content: "Cancelled by the user", IsError: true},
		}},
		Text(RoleUser, "Never mind."),
		{Role: RoleUser, Blocks: []Block{
			{Type: BlockText, Text: "What is in this picture?"},
			{Type: BlockImage, MediaType: "image/gif", Data: "R0lG"},
		}},
	}
}

var tools = []Tool{
	{Name: "list_directory", Description: "Lists a directory.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "bash", Description: "Runs a command."},
}

func longRequest(model string) Request {
	return Request{
		Model: model, System: "Be brief & <exact>.", Messages: longHistory(), Tools: tools,
		Attachments: []Image{{MediaType: "image/png", Data: "iVBO"}}, CacheKey: "conv-1",
	}
}

// TestRequest_Golden pins the bytes of every wire and that they repeat.
func TestRequest_Golden(t *testing.T) {
	t.Parallel()
	warm := 0.2
	for _, tc := range []struct {
		name  string
		build func() ([]byte, error)
	}{
		{"anthropic.json", func() ([]byte, error) { r := longRequest("claude-opus-4-8"); return anthropicRequest(&r, true, nil) }},
		{"anthropic-elsewhere-thinking.json", func() ([]byte, error) {
			r := longRequest("claude-opus-4-8")
			r.Thinking, r.Temperature = true, &warm
			return anthropicRequest(&r, false, nil)
		}},
		{"openai-chat.json", func() ([]byte, error) {
			r := longRequest("gpt-4o")
			return (&chatProvider{wire: wire{id: "openai"}, includeUsage: true, cacheKey: true}).request(&r, nil)
		}},
		{"openrouter.json", func() ([]byte, error) {
			r := longRequest("openrouter/auto")
			r.Temperature = &warm
			return (&chatProvider{wire: wire{id: "openrouter"}, includeUsage: true}).request(&r, nil)
		}},
		{"minimax.json", func() ([]byte, error) {
			r := longRequest("MiniMax-M3")
			return (&chatProvider{wire: wire{id: "minimax"}, includeUsage: true, reasoningSplit: true}).request(&r, nil)
		}},
		{"custom-dropped.json", func() ([]byte, error) {
			r := longRequest("local")
			r.Temperature = &warm
			return (&chatProvider{wire: wire{id: "custom"}}).request(&r, map[string]bool{"max_tokens": true, "temperature": true})
		}},
		{"responses.json", func() ([]byte, error) {
			r := longRequest("gpt-5.5")
			return (&responsesProvider{wire{id: "openai"}}).request(&r, nil)
		}},
		{"ollama.json", func() ([]byte, error) {
			r := longRequest("qwen3:32b")
			r.Temperature = &warm
			return (&ollamaProvider{keepAlive: "30m"}).request(&r, 4096)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.build()
			if err != nil {
				t.Fatal(err)
			}
			again, err := tc.build()
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("the same request gave other bytes (%v)", err)
			}
			golden(t, tc.name, got)
		})
	}
}

// TestRequest_PrefixStays says that a longer history only appends, which is
// what prompt caches live on.
func TestRequest_PrefixStays(t *testing.T) {
	t.Parallel()
	short := longRequest("m")
	short.Messages, short.Attachments = short.Messages[:3], nil
	long := longRequest("m")
	long.Attachments = nil
	for name, build := range map[string]func(*Request) ([]byte, error){
		"anthropic": func(r *Request) ([]byte, error) { return anthropicRequest(r, true, nil) },
		"chat": func(r *Request) ([]byte, error) {
			return (&chatProvider{wire: wire{id: "openai"}, includeUsage: true}).request(r, nil)
		},
		"responses": func(r *Request) ([]byte, error) { return (&responsesProvider{wire{id: "openai"}}).request(r, nil) },
		"ollama":    func(r *Request) ([]byte, error) { return (&ollamaProvider{keepAlive: "0"}).request(r, 4096) },
	} {
		a, err := build(&short)
		if err != nil {
			t.Fatal(err)
		}
		b, err := build(&long)
		if err != nil {
			t.Fatal(err)
		}
		// The end of the list, and the last message's own end on the wire that
		// joins a text to the results before it.
		a = bytes.TrimRight(a, "]}")
		if !bytes.HasPrefix(b, a) {
			t.Errorf("%s: the longer body does not begin with the shorter:\n%s\n%s", name, a, b)
		}
	}
}

// TestRequest_ReplaysReasoning says that stored reasoning goes back to where
// it came from, verbatim, and nowhere else.
func TestRequest_ReplaysReasoning(t *testing.T) {
	t.Parallel()
	const (
		anthropicContent = `[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"c1","name":"ls","input":{}}]`
		output           = `{"type":"reasoning","encrypted_content":"e"},{"type":"function_call","call_id":"c1","name":"ls","arguments":"{}"}`
	)
	history := func(details, id string) []Message {
		return []Message{
			Text(RoleUser, "go"),
			{Role: RoleAssistant, Blocks: []Block{
				{Type: BlockReasoning, Details: json.RawMessage(details)},
				{Type: BlockToolUse, ID: id, Name: "ls", Arguments: json.RawMessage(`{}`)},
			}},
			{Role: RoleTool, Blocks: []Block{{Type: BlockToolResult, ID: id, Name: "ls", Content: "x"}}},
		}
	}
	claude := func(r Request) ([]byte, error) { return anthropicRequest(&r, false, nil) }
	gpt := func(r Request) ([]byte, error) { return (&responsesProvider{wire{id: "openai"}}).request(&r, nil) }
	mini := func(r Request) ([]byte, error) { return (&chatProvider{wire: wire{id: "minimax"}}).request(&r, nil) }
	for _, tc := range []struct {
		name, details, id string
		build             func(Request) ([]byte, error)
		part              string
		want              bool
	}{
		{"anthropic", `{"anthropic_content":` + anthropicContent + `}`, "c1", claude, anthropicContent, true},
		{"anthropic, another call", `{"anthropic_content":` + anthropicContent + `}`, "c9", claude, `"signature"`, false},
		{"anthropic's at openai", `{"anthropic_content":` + anthropicContent + `}`, "c1", gpt, `"signature"`, false},
		{"responses", `{"responses_provider":"openai","output":[` + output + `]}`, "c1", gpt, output, true},
		{"responses of another", `{"responses_provider":"xai","output":[` + output + `]}`, "c1", gpt, `"encrypted_content"`, false},
		{"minimax", `{"compat_provider":"minimax","reasoning_details":[{"text":"t"}]}`, "c1", mini, `"reasoning_details":[{"text":"t"}]`, true},
		{"openrouter's at minimax", `{"compat_provider":"openrouter","reasoning_details":[{"text":"t"}]}`, "c1", mini, `reasoning_details`, false},
		{"no envelope at all", `"x"`, "c1", claude, `"signature"`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			body, err := tc.build(Request{Model: "m", Messages: history(tc.details, tc.id)})
			if err != nil {
				t.Fatal(err)
			}
			if got := bytes.Contains(body, []byte(tc.part)); got != tc.want {
				t.Errorf("%s in the body: %t; want %t\n%s", tc.part, got, tc.want, body)
			}
		})
	}
}

// TestRequest_Thinking says when thinking is asked for.
func TestRequest_Thinking(t *testing.T) {
	t.Parallel()
	unsigned := []Message{
		Text(RoleUser, "go"),
		{Role: RoleAssistant, Blocks: []Block{{Type: BlockToolUse, ID: "c1", Name: "ls", Arguments: json.RawMessage(`{}`)}}},
		{Role: RoleTool, Blocks: []Block{{Type: BlockToolResult, ID: "c1", Content: "x"}}},
	}
	for _, tc := range []struct {
		name     string
		req      Request
		adaptive bool
		want     string
	}{
		{name: "off", req: Request{}, want: "null"},
		{name: "on", req: Request{Thinking: true}, want: `{"type":"enabled","budget_tokens":8000}`},
		{name: "budget", req: Request{Thinking: true, ThinkingBudget: 2000}, want: `{"type":"enabled","budget_tokens":2000}`},
		{name: "budget above the answer", req: Request{Thinking: true, MaxTokens: 4096}, want: `{"type":"enabled","budget_tokens":4095}`},
		{name: "no room", req: Request{Thinking: true, MaxTokens: 512}, want: "null"},
		{name: "model chooses", req: Request{Thinking: true}, adaptive: true, want: `{"type":"adaptive"}`},
		{name: "tool round without signature", req: Request{Thinking: true, Messages: unsigned}, want: "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := encode(anthropicThinkingOf(&tc.req, tc.adaptive))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// server starts the fake that serves a provider and returns its settings.
func server(t *testing.T, id contract.ProviderID, turns ...llmtest.Turn) (*llmtest.Server, Settings) {
	t.Helper()
	switch id {
	case contract.ProviderAnthropic:
		s := llmtest.NewAnthropic(t, turns...)
		return s, Settings{AnthropicURL: s.URL}
	case contract.ProviderOllama:
		s := llmtest.NewOllama(t, llmtest.OllamaModel{Name: "m", ContextLength: 4096, Capabilities: []string{"tools"}}, turns...)
		return s, Settings{OllamaURL: s.URL}
	case contract.ProviderCustom:
		s := llmtest.NewKeylessChat(t, turns...)
		return s, Settings{CustomURL: s.URL + "/v1"}
	case "responses":
		s := llmtest.NewResponses(t, turns...)
		return s, Settings{OpenAIURL: s.URL + "/v1"}
	}
	s := llmtest.NewChat(t, turns...)
	return s, Settings{OpenAIURL: s.URL + "/v1", OpenRouterURL: s.URL + "/api/v1", MiniMaxURL: s.URL + "/v1"}
}

// wires are all networked providers, with a model for each; responses is
// openai with a model of that wire.
var wires = []struct {
	id    contract.ProviderID
	model string
}{
	{contract.ProviderAnthropic, "claude-opus-4-8"},
	{contract.ProviderOpenAI, "gpt-4o"},
	{"responses", "gpt-5.5"},
	{contract.ProviderOpenRouter, "openrouter/auto"},
	{contract.ProviderMiniMax, "MiniMax-M3"},
	{contract.ProviderMiniMaxAPI, "MiniMax-M3"},
	{contract.ProviderOllama, "m"},
	{contract.ProviderCustom, "local"},
}

func wireProvider(t *testing.T, id contract.ProviderID, s Settings) Provider {
	t.Helper()
	if id == "responses" {
		id = contract.ProviderOpenAI
	}
	return provider(t, id, s)
}

// TestStream_StrictServers sends a long, repaired history and a tool round to
// every fake, which refuses what the vendor would (F14, F15, F16), and checks
// what comes back.
func TestStream_StrictServers(t *testing.T) {
	t.Parallel()
	for _, w := range wires {
		t.Run(string(w.id), func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, w.id,
				llmtest.Turn{Thinking: []string{"let ", "me"}, Text: []string{"I ", "look."}, Calls: []llmtest.Call{{ID: "x1", Name: "bash", Arguments: `{"command":"ls"}`}}},
				llmtest.Say("All done."))
			p := wireProvider(t, w.id, settings)
			req := longRequest(w.model)
			req.Messages = Repair(append(longHistory(),
				Message{Role: RoleAssistant, Blocks: []Block{{Type: BlockText, Text: "\n "}}},
				Message{Role: RoleAssistant, Blocks: []Block{{Type: BlockToolUse, ID: "o1", Name: "bash", Arguments: json.RawMessage(`{"path": "a`)}}},
				Text(RoleUser, "hi"),
			), contract.TextCancelledByUser)
			got, err := run(t, p, req, Hooks{})
			if err != nil {
				t.Fatal(err)
			}
			if said := textSaid(got); said != "I look." {
				t.Errorf("text %q", said)
			}
			end := got[len(got)-1].(Done)
			if !end.UsageKnown && w.id != contract.ProviderCustom || end.UsageKnown && (end.Input != 120 || end.Output != 25) {
				t.Errorf("usage %+v", end)
			}

			next := Message{Role: RoleAssistant}
			for _, c := range got {
				switch c := c.(type) {
				case ReasoningDetails:
					next.Blocks = append([]Block{{Type: BlockReasoning, Details: c.Details}}, next.Blocks...)
				case TextDelta:
					next.Blocks = append(next.Blocks, Block{Type: BlockText, Text: c.Text})
				case ToolUseEnd:
					if string(c.Arguments) != `{"command":"ls"}` || c.Invalid {
						t.Errorf("call %+v", c)
					}
					next.Blocks = append(next.Blocks, Block{Type: BlockToolUse, ID: c.ID, Name: c.Name, Arguments: c.Arguments})
				}
			}
			req.Messages = append(req.Messages, next, Message{Role: RoleTool, Blocks: []Block{
				{Type: BlockToolResult, ID: next.Blocks[len(next.Blocks)-1].ID, Name: "bash", Content: ""},
			}})
			req.Messages, req.Attachments = Repair(req.Messages, "x"), nil
			got, err = run(t, p, req, Hooks{})
			if err != nil || textSaid(got) != "All done." {
				t.Errorf("second request: %q, %v", textSaid(got), err)
			}
			if n := len(s.Requests()); n != 2 {
				t.Errorf("%d requests; want 2", n)
			}
		})
	}
}

// TestStream_Headers checks what goes along with the body.
func TestStream_Headers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id   contract.ProviderID
		want http.Header
	}{
		{contract.ProviderAnthropic, http.Header{"X-Api-Key": {testKey}, "Anthropic-Version": {"2023-06-01"}, "Authorization": nil}},
		{contract.ProviderOpenRouter, http.Header{"Authorization": {"Bearer " + testKey}, "Http-Referer": {"https://github.com/packetbench/packetbench"}, "X-Title": {"PacketBench"}}},
		{contract.ProviderOllama, http.Header{"Authorization": nil, "X-Api-Key": nil}},
	} {
		t.Run(string(tc.id), func(t *testing.T) {
			t.Parallel()
			s, settings := server(t, tc.id, llmtest.Say("ok"))
			if _, err := run(t, provider(t, tc.id, settings), Request{Model: "m", Messages: []Message{Text(RoleUser, "hi")}}, Hooks{}); err != nil {
				t.Fatal(err)
			}
			for name, want := range tc.want {
				got := s.Requests()[0].Header.Values(name)
				if len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
					t.Errorf("%s: %q; want %q", name, got, want)
				}
			}
		})
	}
	t.Run("custom without a key", func(t *testing.T) {
		t.Parallel()
		s, settings := server(t, contract.ProviderCustom, llmtest.Say("ok"))
		p := provider(t, contract.ProviderCustom, settings)
		if err := p.Stream(t.Context(), "", Request{Model: "m", Messages: []Message{Text(RoleUser, "hi")}}, func(Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0].Header.Values("Authorization"); len(got) != 0 {
			t.Errorf("Authorization %q; want none", got)
		}
	})
}

// TestRequest_BlankSystem covers F14 for the prompt: a blank one is left out.
func TestRequest_BlankSystem(t *testing.T) {
	t.Parallel()
	req := hi
	req.System = " \n"
	for _, w := range wires {
		s, settings := server(t, w.id, llmtest.Say("ok"))
		req.Model = w.model
		if _, err := run(t, wireProvider(t, w.id, settings), req, Hooks{}); err != nil {
			t.Errorf("%s: %v", w.id, err)
		}
		if body := s.Requests()[0].Body; bytes.Contains(body, []byte(`"system"`)) || bytes.Contains(body, []byte(`"instructions"`)) {
			t.Errorf("%s: %s", w.id, body)
		}
	}
}
