package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

var (
	typeTime  = reflect.TypeFor[time.Time]()
	typeRaw   = reflect.TypeFor[json.RawMessage]()
	typePatch = reflect.TypeFor[contract.Patch]()
)

// payloads are the Go types of what the subjects carry; their tags say which
// keys must be there, may be there and must not.
var payloads = map[string]reflect.Type{}

func init() {
	for _, v := range []contract.Event{
		contract.Chunk(""),
		contract.Thinking{},
		contract.ThinkingStop{},
		contract.ToolStart{},
		contract.ToolResult{},
		contract.PermissionRequest{},
		contract.PendingEdit{},
		contract.EditBaseline{},
		contract.PlanBlock{},
		contract.ToolOutputExtended{},
		contract.TurnSummary{},
		contract.MCPSources{},
		contract.RateLimited{},
		contract.Done{},
		contract.Error{},
	} {
		payloads[string(v.Kind())] = reflect.TypeOf(v)
	}
	for _, p := range contract.WhatPayloads {
		payloads[string(p.What)] = reflect.TypeOf(p.Payload)
	}
}

// shape compares a payload with its Go type and says what is wrong with it:
// keys that are missing, unknown or null, and values of another type.
func shape(raw json.RawMessage, t reflect.Type) []string {
	if t == reflect.TypeFor[contract.ThinkingStop]() {
		if string(bytes.TrimSpace(raw)) != "null" {
			return []string{"the payload is not null"}
		}
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil || !json.Valid(raw) {
		return []string{"the payload is no JSON"}
	}
	var wrong []string
	compare("", v, t, &wrong)
	slices.Sort(wrong)
	return wrong
}

func compare(at string, v any, t reflect.Type, wrong *[]string) {
	say := func(format string, args ...any) {
		*wrong = append(*wrong, strings.TrimPrefix(at+": ", ": ")+fmt.Sprintf(format, args...))
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil {
		say("is null")
		return
	}
	switch {
	case t == typeRaw:
		return
	case t == typePatch:
		comparePatch(at, v, wrong)
		return
	case t == typeTime:
		if s, ok := v.(string); !ok {
			say("is no time")
		} else if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
			say("is no RFC 3339 time")
		}
		return
	}
	ok := true
	switch t.Kind() {
	case reflect.String:
		_, ok = v.(string)
	case reflect.Bool:
		_, ok = v.(bool)
	case reflect.Int, reflect.Int64:
		n, is := v.(json.Number)
		_, err := n.Int64()
		ok = is && err == nil
	case reflect.Uint64:
		n, is := v.(json.Number)
		ok = is && json.Unmarshal([]byte(n), new(uint64)) == nil
	case reflect.Float64:
		n, is := v.(json.Number)
		_, err := n.Float64()
		ok = is && err == nil
	case reflect.Slice:
		list, is := v.([]any)
		ok = is
		for i, e := range list {
			compare(fmt.Sprintf("%s[%d]", at, i), e, t.Elem(), wrong)
		}
	case reflect.Struct:
		var object map[string]any
		if object, ok = v.(map[string]any); ok {
			compareObject(at, object, t, wrong)
		}
	default:
		say("has a type the suite does not know: %s", t)
		return
	}
	if !ok {
		say("is %T, not %s", v, t.Kind())
	}
}

// key is one JSON key of a struct.
type key struct {
	t        reflect.Type
	optional bool
	null     bool // May be null: a pointer that is always written.
}

func keysOf(t reflect.Type) map[string]key {
	keys := map[string]key{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		optional := options == "omitempty"
		keys[name] = key{t: f.Type, optional: optional, null: !optional && f.Type.Kind() == reflect.Pointer}
	}
	return keys
}

func compareObject(at string, object map[string]any, t reflect.Type, wrong *[]string) {
	keys := keysOf(t)
	for name, k := range keys {
		v, there := object[name]
		switch {
		case !there && !k.optional:
			*wrong = append(*wrong, join(at, name)+": is missing")
		case there && v == nil && k.null:
		case there:
			compare(join(at, name), v, k.t, wrong)
		}
	}
	for name := range object {
		if _, known := keys[name]; !known {
			*wrong = append(*wrong, join(at, name)+": is no key of the contract")
		}
	}
}

// comparePatch takes the changed keys of a summary and those of the snapshot
// that change with it. An optional one is cleared by null.
func comparePatch(at string, v any, wrong *[]string) {
	object, ok := v.(map[string]any)
	if !ok {
		*wrong = append(*wrong, strings.TrimPrefix(at+": ", ": ")+"a patch is an object")
		return
	}
	keys := keysOf(reflect.TypeFor[contract.Conversation]())
	keys[contract.PatchReload] = key{t: reflect.TypeFor[bool]()}
	keys[contract.PatchContext] = key{t: reflect.TypeFor[contract.ContextUse](), optional: true}
	for name, value := range object {
		k, known := keys[name]
		switch {
		case !known:
			*wrong = append(*wrong, join(at, name)+": is no key of a conversation")
		case name == "session_id":
			*wrong = append(*wrong, join(at, name)+": does not change")
		case value == nil && (k.optional || k.null):
		default:
			compare(join(at, name), value, k.t, wrong)
		}
	}
}

func join(at, name string) string { return strings.TrimPrefix(at+"."+name, ".") }
