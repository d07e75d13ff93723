package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecode_Captures decodes streams that the vendors' own kits accepted.
func TestDecode_Captures(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, wire, text, calls, done string }{
		{"anthropic-text.sse", "anthropic", "Hello from the fake model claude-sonnet-4-5. ", "", "done 120 25 40 0 true"},
		{"anthropic-tool.sse", "anthropic", "Running it. ", "toolu_fake_3 Bash {\"command\":\"echo hi > made.txt && cat made.txt\",\"description\":\"make file\"}\n", "done 120 25 40 0 true"},
		{"chat-text.sse", "chat", "Hello from fake chat gpt-5.2", "", "done 40 8 0 0 true"},
		{"chat-tool.sse", "chat", "", "call_18 run_shell {\"command\":\"ls\"}\n", "done 40 8 0 0 true"},
		{"responses-text.sse", "responses", "Hello from fake gpt-5.2", "", "done 50 9 10 0 true"},
		{"responses-tool.sse", "responses", "", "call_2 run_shell {\"command\":\"ls\"}\n", "done 50 9 10 0 true"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("testdata", "captures", tc.file))
			if err != nil {
				t.Fatal(err)
			}
			stream := strings.ReplaceAll(string(raw), "\r\n", "\n")
			for name, in := range map[string]string{"as recorded": stream, "CRLF": strings.ReplaceAll(stream, "\n", "\r\n")} {
				var got []Chunk
				if err := decoders[tc.wire](in, name == "CRLF", &sink{emit: into(&got)}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				calls := ""
				for _, c := range got {
					if e, ok := c.(ToolUseEnd); ok {
						calls += e.ID + " " + e.Name + " " + string(e.Arguments) + "\n"
					}
				}
				done := show(got[len(got)-1:])
				if text := textSaid(got); text != tc.text || calls != tc.calls || done != tc.done {
					t.Errorf("%s: %q, %q, %q; want %q, %q, %q", name, text, calls, done, tc.text, tc.calls, tc.done)
				}
			}
		})
	}
}
