package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// Source: runtime.md 3. Windows are in tokens.
const (
	// ollamaDefaultWindow stands for a model that does not tell its own.
	ollamaDefaultWindow = 8192
	ollamaShowTimeout   = 3 * time.Second
)

// ollamaProvider speaks the daemon's native chat, and Chat Completions with servers
// that lack it.
type ollamaProvider struct {
	wire
	compat    chatProvider
	limit     int
	keepAlive string
}

func (o *ollamaProvider) Stream(ctx context.Context, key string, req Request, emit func(Chunk) error) error {
	return o.stream(ctx, key, req, Hooks{}, emit)
}

func (o *ollamaProvider) stream(ctx context.Context, _ string, req Request, h Hooks, emit func(Chunk) error) error {
	shown := o.show(ctx, h, req.Model)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(req.Tools) > 0 && len(shown.capabilities) > 0 && !slices.Contains(shown.capabilities, "tools") {
		return fmt.Errorf("The Ollama model %s cannot call tools, which an agent needs. Choose a model that lists tools among its capabilities.", req.Model)
	}
	window := shown.window
	if window <= 0 {
		window = ollamaDefaultWindow
	}
	window = min(window, o.limit)
	body, err := o.request(&req, window)
	if err != nil {
		return err
	}
	ans, err := o.exchange(ctx, h, "/api/chat", "", nil, body)
	if err != nil {
		if noNativeChat(err) {
			h.log("ollama native chat missing, using the compatible wire url=" + o.base + " num_ctx=unset")
			return o.compat.stream(ctx, "", req, h, emit)
		}
		return err
	}
	defer ans.Close()
	d := &ollamaDecoder{out: &sink{emit: emit}, window: window, estimate: Estimate(req), model: req.Model}
	return d.decode(ans)
}

// noNativeChat tells a server without /api/chat from a daemon that does not
// have the model: both answer 404.
func noNativeChat(err error) bool {
	var e *APIError
	if !errors.As(err, &e) {
		return false
	}
	if e.Status == http.StatusMethodNotAllowed {
		return true
	}
	return e.Status == http.StatusNotFound && !strings.Contains(strings.ToLower(e.Body), "model")
}

// shownModel is what /api/show told about a model. window is in tokens, 0 when
// it was not told; capabilities is empty when the daemon lists none.
type shownModel struct {
	window       int
	capabilities []string
}

// show asks about a model once per daemon and model. A daemon that cannot tell
// is asked again next time; the request goes on with the default window.
func (o *ollamaProvider) show(ctx context.Context, h Hooks, model string) shownModel {
	place := o.base + " " + model
	if s, ok := o.learned.show(place); ok {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, ollamaShowTimeout)
	defer cancel()
	body, err := encode(struct {
		Model string `json:"model"`
	}{model})
	if err != nil {
		return shownModel{}
	}
	ans, err := o.exchange(ctx, h, "/api/show", "", nil, body)
	if err != nil {
		return shownModel{}
	}
	defer ans.Close()
	raw, err := io.ReadAll(io.LimitReader(ans, maxEventBytes))
	if err != nil {
		return shownModel{}
	}
	var told struct {
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	if json.Unmarshal(raw, &told) != nil {
		return shownModel{}
	}
	s := shownModel{capabilities: told.Capabilities}
	for key, value := range told.Info {
		var n int
		if strings.HasSuffix(key, ".context_length") && json.Unmarshal(value, &n) == nil {
			s.window = max(s.window, n)
		}
	}
	o.learned.remember(place, s)
	return s
}

type ollamaBody struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	KeepAlive json.RawMessage `json:"keep_alive"`
	Options   ollamaOptions   `json:"options"`
	Tools     []chatTool      `json:"tools,omitempty"`
	Messages  []ollamaMessage `json:"messages"`
}

type ollamaOptions struct {
	NumCtx      int      `json:"num_ctx"`
	NumPredict  int      `json:"num_predict"`
	Temperature *float64 `json:"temperature,omitempty"`
}

type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	Images    []string     `json:"images,omitempty"`
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"`
}

type ollamaCall struct {
	Function ollamaCallFunction `json:"function"`
}

type ollamaCallFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (o *ollamaProvider) request(req *Request, window int) ([]byte, error) {
	b := ollamaBody{
		Model: req.Model, Stream: true, KeepAlive: keepAliveJSON(o.keepAlive),
		Options: ollamaOptions{NumCtx: window, NumPredict: min(req.maxTokens(), window), Temperature: req.Temperature},
	}
	for _, t := range req.Tools {
		b.Tools = append(b.Tools, chatTool{Type: "function", Function: chatFunction{Name: t.Name, Description: t.Description, Parameters: schema(t.Parameters)}})
	}
	if system := req.system(); system != "" {
		b.Messages = append(b.Messages, ollamaMessage{Role: "system", Content: system})
	}
	// Results carry the tool's name, not the call's id.
	names := make(map[string]string)
	last := lastUser(req.Messages)
	for i, m := range req.Messages {
		out := ollamaMessage{Role: string(m.Role), Content: textOf(m)}
		for _, block := range m.Blocks {
			switch block.Type {
			case BlockImage:
				out.Images = append(out.Images, block.Data)
			case BlockToolUse:
				names[block.ID] = block.Name
				args, _ := objectArguments(block.Arguments)
				out.ToolCalls = append(out.ToolCalls, ollamaCall{Function: ollamaCallFunction{Name: block.Name, Arguments: args}})
			case BlockToolResult:
				b.Messages = append(b.Messages, ollamaMessage{Role: "tool", Content: block.Content, ToolName: or(names[block.ID], block.Name)})
			case BlockText, BlockReasoning:
			}
		}
		if m.Role == RoleTool {
			continue
		}
		if i == last {
			for _, image := range req.Attachments {
				out.Images = append(out.Images, image.Data)
			}
		}
		b.Messages = append(b.Messages, out)
	}
	return encode(b)
}

type ollamaLine struct {
	Message struct {
		Content   piece `json:"content"`
		Thinking  piece `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string        `json:"name"`
				Arguments argumentPiece `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool            `json:"done"`
	DoneReason string          `json:"done_reason"`
	Prompt     count           `json:"prompt_eval_count"`
	Eval       count           `json:"eval_count"`
	Error      json.RawMessage `json:"error"`
}

// ollamaDecoder turns lines into chunks. window and estimate are in tokens.
type ollamaDecoder struct {
	out      *sink
	window   int
	estimate uint64
	model    string
	finished bool
}

func (d *ollamaDecoder) decode(r io.Reader) error {
	if err := lines(r, d.line); err != nil {
		return err
	}
	if !d.finished {
		return ErrIncomplete
	}
	return nil
}

func (d *ollamaDecoder) line(raw []byte) (stop bool, err error) {
	var l ollamaLine
	if err := decode(raw, &l); err != nil {
		return false, err
	}
	if len(l.Error) > 0 && string(l.Error) != "null" {
		message, status := errorObject(l.Error)
		return true, &StreamError{Provider: contract.ProviderOllama, Status: status, Message: or(message, "Ollama reported an error without saying which. Look at its log, then send again.")}
	}
	if err := d.out.thinkingDelta(string(l.Message.Thinking)); err != nil {
		return false, err
	}
	if err := d.out.textDelta(string(l.Message.Content)); err != nil {
		return false, err
	}
	for _, t := range l.Message.ToolCalls {
		c := &call{id: madeUpID("ollama-" + t.Function.Name), name: t.Function.Name}
		if err := c.more(d.out, string(t.Function.Arguments)); err != nil {
			return false, err
		}
		if err := c.end(d.out, ""); err != nil {
			return false, err
		}
	}
	if !l.Done {
		return false, nil
	}
	d.finished = true
	d.out.usage.input.take(l.Prompt)
	d.out.usage.output.take(l.Eval)
	if err := d.notices(&l); err != nil {
		return true, err
	}
	return true, d.out.done()
}

// notices tells what the daemon does in silence: it cuts a prompt that does
// not fit, and an answer that is too long.
func (d *ollamaDecoder) notices(l *ollamaLine) error {
	window := uint64(d.window)
	if window > 0 && (l.Prompt.n >= window || d.estimate > window) {
		notice := fmt.Sprintf("\n\n[The conversation no longer fits the context window of %d tokens that Ollama was given, so its beginning was cut. Raise the context cap in Settings > Providers, or start a new conversation.]", d.window)
		if err := d.out.textDelta(notice); err != nil {
			return err
		}
	}
	if l.DoneReason == "length" {
		return d.out.textDelta("\n\n[The answer was cut: it reached the number of tokens that Ollama was asked for.]")
	}
	return nil
}
