package llm

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/contract"
)

var update = flag.Bool("update-wire", false, "rewrite the golden request bodies")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show writes chunks down, one a line, so that a table can hold them.
func show(chunks []Chunk) string {
	var lines []string
	for _, c := range chunks {
		switch c := c.(type) {
		case TextDelta:
			lines = append(lines, fmt.Sprintf("text %q", c.Text))
		case ThinkingDelta:
			lines = append(lines, fmt.Sprintf("thinking %q", c.Text))
		case ThinkingStop:
			lines = append(lines, "stop")
		case ToolUseStart:
			lines = append(lines, "start "+c.ID+" "+c.Name)
		case ToolUseInputDelta:
			lines = append(lines, fmt.Sprintf("input %s %q", c.ID, c.Delta))
		case ToolUseEnd:
			line := "end " + c.ID + " " + c.Name + " " + string(c.Arguments)
			if c.Invalid {
				line += " invalid"
			}
			lines = append(lines, line)
		case ReasoningDetails:
			lines = append(lines, "reasoning "+string(c.Details))
		case Done:
			lines = append(lines, fmt.Sprintf("done %d %d %d %d %t", c.Input, c.Output, c.CacheRead, c.CacheCreation, c.UsageKnown))
		}
	}
	return strings.Join(lines, "\n")
}

// textSaid joins the text deltas.
func textSaid(chunks []Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		if t, ok := c.(TextDelta); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// into returns an emit function that keeps what it gets.
func into(chunks *[]Chunk) func(Chunk) error {
	return func(c Chunk) error {
		*chunks = append(*chunks, c)
		return nil
	}
}

// decodeWith runs one wire's decoder over bytes, split as told.
type decodeFunc func(data string, oneByte bool, out *sink) error

func reader(data string, oneByte bool) interface{ Read([]byte) (int, error) } {
	if oneByte {
		return iotest.OneByteReader(strings.NewReader(data))
	}
	return strings.NewReader(data)
}

var decoders = map[string]decodeFunc{
	"anthropic": func(data string, oneByte bool, out *sink) error {
		return decodeAnthropic(reader(data, oneByte), contract.ProviderAnthropic, out)
	},
	"chat": func(data string, oneByte bool, out *sink) error {
		return (&chatDecoder{id: contract.ProviderOpenAI, out: out, slots: map[int]*call{}}).decode(reader(data, oneByte))
	},
	"responses": func(data string, oneByte bool, out *sink) error {
		return decodeResponses(reader(data, oneByte), contract.ProviderOpenAI, out)
	},
	"ollama": func(data string, oneByte bool, out *sink) error {
		return (&ollamaDecoder{out: out, window: 8192, model: "m"}).decode(reader(data, oneByte))
	},
}

// client returns a client whose connections end with the test.
func client(t testing.TB) *http.Client {
	t.Helper()
	c := NewHTTPClient()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// provider builds a provider with a memory of its own, so that no test learns
// from another's endpoint.
func provider(t testing.TB, id contract.ProviderID, s Settings) Provider {
	t.Helper()
	p, err := New(id, s, client(t))
	if err != nil {
		t.Fatal(err)
	}
	m := newMemo()
	switch p := p.(type) {
	case *anthropicProvider:
		p.learned = m
	case *chatProvider:
		p.learned = m
	case *openaiProvider:
		p.chat.learned, p.responses.learned = m, m
	case *ollamaProvider:
		p.learned, p.compat.learned = m, m
	}
	return p
}

const testKey = "sk-test-0123456789"

// run streams one request and returns what came.
func run(t testing.TB, p Provider, req Request, h Hooks) ([]Chunk, error) {
	t.Helper()
	var chunks []Chunk
	err := Stream(t.Context(), p, testKey, req, h, into(&chunks))
	return chunks, err
}

// golden compares with a file of testdata/requests.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "requests", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimRight(strings.ReplaceAll(string(want), "\r\n", "\n"), "\n") != string(got) {
		t.Errorf("%s differs:\n got %s\nwant %s", name, got, want)
	}
}

func ctxWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}
