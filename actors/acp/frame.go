package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

// frameKind is what a line is, by the keys that it has.
type frameKind int

// The three kinds. Source: acp.md 1.
const (
	frameResponse frameKind = iota
	frameNotification
	frameRequest
)

// frame is one line of an engine. Id is the raw JSON of the id, of any type: it
// is echoed byte for byte, and 0 is an id like any other.
type frame struct {
	kind   frameKind
	id     json.RawMessage
	method string
	params json.RawMessage
	// result is nil when the key was absent; null is "null". Only one of
	// result and err counts, err first.
	result json.RawMessage
	err    *rpcError
}

// The JSON-RPC codes that mean something to us beside those of contract.
// Source: acp.md 1.
const (
	codeCancelled = -32800
	// codeBusyOrLogin is "session busy" on packetcode and "log in first"
	// everywhere else.
	codeBusyOrLogin = -32000
	codeNoResource  = -32002
)

// rpcError is the error object of an engine. Code is 0 when it was no integer.
type rpcError struct {
	code    int64
	message string
	data    json.RawMessage
}

// text is what a person reads: the message, and what claude-agent-acp hides
// behind "Internal error" in data.details.
func (e *rpcError) text() string {
	message := strings.TrimSpace(e.message)
	if message == "" {
		message = "error " + strconv.FormatInt(e.code, 10)
	}
	var data struct {
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(e.data, &data) == nil {
		if details := strings.TrimSpace(str(data.Details)); details != "" && !strings.Contains(message, details) {
			message += ": " + details
		}
	}
	return message
}

// errNotFrame says that a line is no frame: stray text of a library, usually.
var errNotFrame = errors.New("acp: the line is no JSON-RPC frame")

// decode reads one line. It fails with errNotFrame for anything that is not a
// JSON object with an id or a method; unknown keys are ignored. Invalid UTF-8
// is replaced, so that what comes of it can be published.
func decode(line []byte) (frame, error) {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' {
		return frame{}, errNotFrame
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	var w struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &w) != nil {
		return frame{}, errNotFrame
	}
	f := frame{id: w.ID, method: str(w.Method), params: w.Params, result: w.Result}
	switch {
	case len(w.Method) == 0 && len(w.ID) == 0:
		return frame{}, errNotFrame
	case len(w.Method) == 0:
		f.kind, f.err = frameResponse, decodeError(w.Error)
	case f.method == "":
		return frame{}, errNotFrame
	case len(w.ID) == 0:
		f.kind = frameNotification
	default:
		f.kind = frameRequest
	}
	return f, nil
}

// decodeError reads an error object of whatever shape; nil when there is none.
func decodeError(raw json.RawMessage) *rpcError {
	if absent(raw) {
		return nil
	}
	var w struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(raw, &w) != nil {
		message, _ := text(raw)
		return &rpcError{message: message}
	}
	e := &rpcError{message: str(w.Message), data: w.Data}
	if code, err := strconv.ParseInt(string(w.Code), 10, 64); err == nil {
		e.code = code
	}
	return e
}

// ours reads the id of a response as one of our own; ok is false for an id that
// we never make, null included.
func ours(id json.RawMessage) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(id), 10, 64)
	return n, err == nil && n > 0
}

// idText is the text form of a request's id: a string's content, anything else
// as its JSON. Source: contract.md 2.1.
func idText(id json.RawMessage) string {
	s, _ := text(id)
	return s
}

// encodeRequest is one request line, without its line end.
func encodeRequest(id uint64, method string, params any) ([]byte, error) {
	return encode(`"id":`+strconv.FormatUint(id, 10)+`,"method":`+strconv.Quote(method)+`,"params":`, params)
}

// encodeNotification is one notification line, without its line end.
func encodeNotification(method string, params any) ([]byte, error) {
	return encode(`"method":`+strconv.Quote(method)+`,"params":`, params)
}

// encodeResult answers a request of the engine; id is echoed byte for byte.
func encodeResult(id json.RawMessage, result any) ([]byte, error) {
	return encode(`"id":`+string(id)+`,"result":`, result)
}

// encodeFailure answers a request of the engine with an error.
func encodeFailure(id json.RawMessage, code int, message string) ([]byte, error) {
	return encode(`"id":`+string(id)+`,"error":`, contract.Failure{Code: code, Message: message})
}

func encode(head string, last any) ([]byte, error) {
	body, err := contract.Marshal(last)
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(head)+len(body)+20)
	line = append(line, `{"jsonrpc":"2.0",`...)
	line = append(line, head...)
	line = append(line, body...)
	return append(line, '}'), nil
}

// head reads what is needed of a line that was too long to be kept: whose answer
// or which request it was. Only keys that stand before the cut are seen; ok is
// false when nothing can be said.
func head(cut []byte) (f frame, ok bool) {
	d := json.NewDecoder(io.MultiReader(bytes.NewReader(cut), failing{}))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return frame{}, false
	}
	for {
		key, err := d.Token()
		name, isName := key.(string)
		if err != nil || !isName {
			break
		}
		if name == "result" || name == "error" {
			f.result = json.RawMessage("null") // What follows belongs to an answer.
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		switch name {
		case "id":
			f.id = value
		case "method":
			f.method = str(value)
		}
	}
	switch {
	case len(f.id) > 0 && f.method != "":
		f.kind = frameRequest
	case len(f.id) > 0 && f.result != nil:
		f.kind = frameResponse
	default:
		return frame{}, false
	}
	return f, true
}

// failing is the end of a cut line: not the end of its text.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// absent reports whether a value is missing or null: engines use both.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// str is the content of a JSON string, "" for anything else.
func str(raw json.RawMessage) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// text is the JSON text rule of contract.md 2.1: a JSON string passes through
// unquoted, anything else is encoded compactly, nothing is absent.
func text(raw json.RawMessage) (s string, present bool) {
	if len(raw) == 0 {
		return "", false
	}
	if raw[0] == '"' {
		return str(raw), true
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw), true
	}
	return b.String(), true
}
