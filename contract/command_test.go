package contract

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMay: a monitor calls exactly what interface.md 3 lists, and asks its own
// role; the owner calls everything.
func TestMay(t *testing.T) {
	t.Parallel()
	allowed := []Method{
		"subscribe", "unsubscribe", "list_conversations", "get_conversation", "list_providers",
		"get_provider_auth_status", "get_sidecar_status", "acp_session_usage", "get_tree", "list_terminals",
		"get_session",
	}
	if !slices.Equal(sortedMethods(MonitorMethods), sortedMethods(allowed)) {
		t.Errorf("MonitorMethods = %v, want %v", MonitorMethods, allowed)
	}
	for _, m := range Methods {
		if !ClientOwner.May(m) {
			t.Errorf("the owner may not call %s", m)
		}
		if got, want := ClientMonitor.May(m), slices.Contains(allowed, m); got != want {
			t.Errorf("a monitor may call %s: %v, want %v", m, got, want)
		}
		for _, nobody := range []Client{"", "Owner", "admin"} {
			if nobody.May(m) {
				t.Errorf("client %q may call %s", nobody, m)
			}
		}
	}
}

func sortedMethods(m []Method) []Method {
	out := slices.Clone(m)
	slices.Sort(out)
	return out
}

// TestShapes: one row per method, and each shape is an object or a list on the
// wire.
func TestShapes(t *testing.T) {
	t.Parallel()
	var rows []Method
	for _, s := range Shapes {
		rows = append(rows, s.Method)
		for _, v := range []any{s.Params, s.Result} {
			if _, err := Marshal(v); err != nil {
				t.Errorf("%s: %v", s.Method, err)
			}
		}
		switch reflect.TypeOf(s.Params).Kind() {
		case reflect.Struct, reflect.Slice:
		default:
			t.Errorf("%s takes %T", s.Method, s.Params)
		}
	}
	if !slices.Equal(sortedMethods(rows), sortedMethods(Methods)) {
		t.Errorf("shapes for %v, methods %v", rows, Methods)
	}
	var whats []What
	for _, p := range WhatPayloads {
		whats = append(whats, p.What)
	}
	if !slices.Equal(whats, Whats) {
		t.Errorf("payloads for %v, members %v", whats, Whats)
	}
}

// TestTexts pins what somebody outside matches on: exactly the quoted strings
// of the specification.
func TestTexts(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"This read-only Monitor cannot invoke that application command.": TextMonitor,
		"This prompt was already answered.":                              TextAnswered,
		"No active session: ":                                            TextNoSession,
		"Session already exists: ":                                       TextSessionExists,
		"No assistant turn to retry":                                     TextNoAssistantTurn,
		"Images cannot be queued; send them when the turn has ended.":    TextQueueImages,
		"Cancelled by the user":                                          TextCancelledByUser,
		"User cancelled this tool":                                       TextUserCancelled,
		"User denied permission for this tool call.":                     TextDenied,
		" User's guidance: ":                                             TextDeniedGuidance,
		"Permission request timed out.":                                  TextPermTimeout,
		"Edit approval timed out.":                                       TextEditTimeout,
		"User rejected this edit.":                                       TextEditRejected,
		"Permissions: all risky tools are denied.":                       TextDenyAll,
		"The provider sent nothing for 120 s; send again to retry.":      TextStall,
		"Provider stream ended before its completion and usage marker; this request is incomplete": TextIncompleteStream,
		"Sidecar restarted \u2014 please resend your message to continue this conversation.":       TextSidecarRestarted,
		"Sidecar crashed and could not restart":                                                    TextSidecarGivenUp,
		"engine closed the connection":                                                             TextEngineClosed,
		"Tool 'web_fetch' is outside this session's allowed tool set.":                             NotAdvertised("web_fetch"),
		"Plan mode is active \u2014 'bash' is disabled. Ask the user to exit plan mode first.":     PlanModeRefusal("bash"),
		"Blocked by PreToolUse hook: check.sh":                                                     HookVeto("check.sh"),
	} {
		if got != want {
			t.Errorf("text is %q, the specification says %q", got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := BadParam("session_id", "%q is not an id", "a.b")
	if f.Code != -32602 || f.Message != `session_id: "a.b" is not an id` {
		t.Errorf("BadParam = %+v", f)
	}
	var err error = Answered(ByTimeout)
	var got *Failure
	if !errors.As(err, &got) || got.Code != -32010 || got.Message != TextAnswered || string(got.Data) != `{"by":"timeout"}` {
		t.Errorf("Answered = %+v", got)
	}
	if f := Fail(CodeNotFound, TextNoSession+"%s", "c-1"); f.Code != -32004 || f.Error() != "No active session: c-1" {
		t.Errorf("Fail = %+v", f)
	}
	for want, code := range map[int]int{
		-32700: CodeParse, -32600: CodeInvalid, -32601: CodeNoMethod, -32602: CodeBadParams, -32603: CodeInternal,
		-32001: CodeUnauthorized, -32003: CodeForbidden, -32004: CodeNotFound, -32009: CodeConflict,
		-32010: CodeAnswered, -32029: CodeOverLimit,
	} {
		if code != want {
			t.Errorf("code %d, interface.md 4 says %d", code, want)
		}
	}
}

// TestSidecarStatus_Nulls: the one object whose absent values are null.
func TestSidecarStatus_Nulls(t *testing.T) {
	t.Parallel()
	raw, err := Marshal(SidecarStatus{State: "not_started"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"state":"not_started","restarts":0,"last_error":null,"protocol_version":null,"pid":null,"version":null,` +
		`"lifetime":{"total_starts":0,"total_crashes":0,"total_uptime_secs":0,"last_crash_time":null,"last_version":null,"last_error":null}}`
	if string(raw) != want {
		t.Fatalf("status\n%s\nwant\n%s", raw, want)
	}
}

// TestEnvelope: a turn is absent outside one, and the payload is untouched.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	var e Envelope
	const in = `{"seq":7,"time":"2026-01-02T03:04:05.000000006Z","subject":"ops.restart","data":{"a":"<b>"}}`
	if err := json.Unmarshal([]byte(in), &e); err != nil {
		t.Fatal(err)
	}
	raw, err := Marshal(e)
	if err != nil || string(raw) != in {
		t.Fatalf("%s, %v; want %s", raw, err, in)
	}
	e.Turn = "t-1"
	if raw, err = Marshal(e); err != nil || !strings.Contains(string(raw), `"turn":"t-1"`) {
		t.Fatalf("%s, %v", raw, err)
	}
}
