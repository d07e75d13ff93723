package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// parsed is one request of a frame, or the failure that stands for it.
type parsed struct {
	req  contract.Request
	fail *contract.Failure
	// silent: a notification, which gets no answer.
	silent bool
}

// parse takes a JSON-RPC frame apart: one request or a batch. A frame that is
// no JSON, or an empty batch, is one failure with a null id. It is pure.
func parse(frame []byte) (requests []parsed, batch bool) {
	if !utf8.Valid(frame) { // RFC 8259 8.1; an id would go back as it came.
		return []parsed{bad(contract.CodeParse, "The request is not UTF-8.")}, false
	}
	frame = bytes.TrimSpace(frame)
	if len(frame) > 0 && frame[0] == '[' {
		if !json.Valid(frame) {
			return []parsed{bad(contract.CodeParse, "The request is not JSON.")}, false
		}
		// One by one: 16 MiB hold millions of entries, and only 256 are taken.
		list := json.NewDecoder(bytes.NewReader(frame))
		if _, err := list.Token(); err != nil {
			return []parsed{bad(contract.CodeParse, "The request is not JSON.")}, false
		}
		for list.More() {
			if len(requests) == config.MaxRequestsInFlight {
				return []parsed{bad(contract.CodeOverLimit, "A batch may hold %d requests.", config.MaxRequestsInFlight)}, false
			}
			var one json.RawMessage
			if err := list.Decode(&one); err != nil {
				return []parsed{bad(contract.CodeParse, "The request is not JSON.")}, false
			}
			requests = append(requests, parseOne(one))
		}
		if len(requests) == 0 {
			return []parsed{bad(contract.CodeInvalid, "A batch must hold at least one request.")}, false
		}
		return requests, true
	}
	return []parsed{parseOne(frame)}, false
}

func bad(code int, format string, args ...any) parsed {
	return parsed{fail: contract.Fail(code, format, args...), req: contract.Request{ID: json.RawMessage("null")}}
}

func parseOne(raw []byte) parsed {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || len(raw) == 0 {
			return bad(contract.CodeParse, "The request is not JSON.")
		}
		return bad(contract.CodeInvalid, "A request is an object with jsonrpc, method, params and id.")
	}
	p := parsed{req: contract.Request{ID: json.RawMessage("null")}}
	if id, ok := fields["id"]; ok {
		if !validID(id) {
			return bad(contract.CodeInvalid, "id: want a string, a number or null")
		}
		p.req.ID = id
	} else {
		p.silent = true
	}
	var version string
	if json.Unmarshal(fields["jsonrpc"], &version) != nil || version != "2.0" {
		p.fail, p.silent = contract.Fail(contract.CodeInvalid, `jsonrpc: want "2.0"`), false
		return p
	}
	if json.Unmarshal(fields["method"], &p.req.Method) != nil || p.req.Method == "" {
		p.fail, p.silent = contract.Fail(contract.CodeInvalid, "method: want the name of a method"), false
		return p
	}
	params := bytes.TrimSpace(fields["params"])
	if len(params) > 0 && params[0] != '{' && !bytes.Equal(params, []byte("null")) {
		p.fail = contract.BadParam("params", "want an object")
		return p
	}
	if bytes.Equal(params, []byte("null")) {
		params = nil
	}
	p.req.Params = params
	return p
}

func validID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > 256 {
		return false
	}
	c := id[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9' || string(id) == "null"
}

// answer encodes one response.
func answer(id json.RawMessage, result any, failure *contract.Failure) []byte {
	r := contract.Response{JSONRPC: "2.0", ID: id, Error: failure}
	if failure == nil {
		body, err := contract.Marshal(result)
		if err != nil {
			r.Error = contract.Fail(contract.CodeInternal, "The answer could not be encoded.")
		} else {
			r.Result = body
		}
	}
	out, err := contract.Marshal(r)
	if err != nil { // Only an id that is no JSON could do this, and it was checked.
		return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"The answer could not be encoded."}}`, contract.CodeInternal))
	}
	return out
}

// params decodes parameters strictly by type; a wrong type is named by field.
func params[T any](raw json.RawMessage) (T, *contract.Failure) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			got, _, _ := strings.Cut(wrong.Value, " ") // A number's digits are nobody's business.
			return v, contract.BadParam(wrong.Field, "want %s, got %s", jsonName(wrong.Type), got)
		}
		return v, contract.BadParam("params", "%s", err)
	}
	return v, nil
}

// jsonName says in JSON's words what a Go type is decoded from.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonName(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}

// since reads the parameter of a subscription: absent or "new" is the next
// event, "all" the oldest held one, a number that sequence. It is pure.
func since(raw json.RawMessage, head uint64) (from uint64, failure *contract.Failure) {
	if len(raw) == 0 || string(raw) == "null" {
		return head + 1, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "new":
			return head + 1, nil
		case "all":
			return 0, nil
		}
		return 0, contract.BadParam("since", `want "new", "all" or a sequence number`)
	}
	if json.Unmarshal(raw, &from) != nil {
		return 0, contract.BadParam("since", `want "new", "all" or a sequence number`)
	}
	return from, nil
}

// eventHead and eventTail wrap envelopes that are encoded already.
var (
	eventHead = []byte(`{"jsonrpc":"2.0","method":"event","params":{"subscription":"`)
	eventMid  = []byte(`","events":[`)
	eventTail = []byte(`]}}`)
)

// notify encodes a notification other than event.
func notify(method string, v any) []byte {
	body, err := contract.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, v})
	if err != nil {
		return nil
	}
	return body
}
