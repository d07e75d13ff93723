package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// goodParams are parameters that each method accepts; those of a conversation
// are the default.
var goodParams = map[contract.Method]string{
	contract.MethodSubscribe:         `{"subjects":["ops.>"]}`,
	contract.MethodUnsubscribe:       `{"subscription":"s1"}`,
	contract.MethodSession:           `{}`,
	contract.MethodListConversations: `{}`,
	contract.MethodListProviders:     `{}`,
	contract.MethodProviderAuth:      `{"provider":"anthropic"}`,
	contract.MethodSidecarStatus:     `{}`,
	contract.MethodTree:              `{}`,
	contract.MethodListTerminals:     `{}`,
	contract.MethodGetSettings:       `{}`,
	contract.MethodSetSettings:       `{"app":{}}`,
	contract.MethodSetKey:            `{"account":"api-key-anthropic","value":"` + secretKey + `"}`,
	contract.MethodDeleteKey:         `{"account":"api-key-anthropic"}`,
	contract.MethodListKeys:          `{}`,
	contract.MethodListAudit:         `{}`,
	contract.MethodTrustProject:      `{"project_path":"/home/p","trusted":true}`,
	contract.MethodResetActor:        `{"name":"sidecar"}`,
	contract.MethodStopActor:         `{"name":"sidecar"}`,
	contract.MethodStartActor:        `{"name":"sidecar"}`,
	contract.MethodFindFiles:         `{"project_path":"/","query":"a"}`,
	contract.MethodProjectDiff:       `{"project_path":"/"}`,
	contract.MethodListCommands:      `{"project_path":"/"}`,
	contract.MethodProject:           `{"project_path":"/"}`,
	contract.MethodListProfiles:      `{}`,
	contract.MethodSaveProfile:       `{"profile":{"name":"x"}}`,
	contract.MethodCloneProfile:      `{"id":"p"}`,
	contract.MethodDeleteProfile:     `{"id":"p"}`,
	contract.MethodDefaultProfile:    `{"id":"p"}`,
	contract.MethodExport:            `{"session_id":"c1","format":"md"}`,
	contract.MethodSearch:            `{"query":"a"}`,
	contract.MethodTestKey:           `{"provider":"anthropic"}`,
	contract.MethodEngineSessions:    `{"provider":"packetcode-acp"}`,
	contract.MethodMCPPlan:           `{"project_path":"/"}`,
	contract.MethodProbeEngine:       `{}`,
	contract.MethodPinEngine:         `{"path":"/good"}`,
	contract.MethodOpenTerminal:      `{"terminal_id":"new","cwd":"/","cols":80,"rows":24}`,
	contract.MethodResizeTerminal:    `{"terminal_id":"t1","cols":80,"rows":24}`,
	contract.MethodCloseTerminal:     `{"terminal_id":"t1"}`,
	contract.MethodRestartTerminal:   `{"terminal_id":"t1"}`,
	contract.MethodTerminalPresets:   `{}`,
	contract.MethodLog:               `{}`,
}

func paramsOf(m contract.Method) string {
	if p, ok := goodParams[m]; ok {
		return p
	}
	return `{"session_id":"c1"}`
}

// house answers every actor that the doors ask.
func (r *rig) house() {
	r.node.on("conversation:c1", func(request any) (any, error) {
		c := request.(msg.Command)
		if c.Method == contract.MethodGetConversation && strings.Contains(string(c.Params), "format") {
			return msg.Reply{Result: contract.Snapshot{Conversation: contract.Conversation{Summary: contract.Summary{Title: "T"}}}}, nil
		}
		return msg.Reply{Result: map[string]any{"method": c.Method}}, nil
	})
	r.node.on(msg.Inspect, func(any) (any, error) { return contract.Tree{BootID: bootID}, nil })
	r.node.on(msg.TerminalsSup, func(request any) (any, error) {
		if _, ok := request.(msg.Ensure); ok {
			return msg.Ensured{Created: true}, nil
		}
		return msg.ChildList{Children: []msg.Status{{Name: "terminal:t1", State: msg.StateRunning, PID: gen.PID{ID: 3}}}}, nil
	})
	for _, name := range []gen.Atom{"terminal:t1", "terminal:new"} {
		r.node.on(name, func(request any) (any, error) {
			switch request.(type) {
			case msg.DescribeTerminal, msg.RestartTerminal:
				return msg.TerminalDescribed{Info: msg.TerminalInfo{ID: "t1", State: msg.TerminalRunning}}, nil
			}
			return msg.TerminalDone{}, nil
		})
	}
	r.node.on(msg.EnginesSup, func(any) (any, error) { return msg.ChildAnswer{State: msg.StateStarting}, nil })
	r.node.on(msg.Secret, func(request any) (any, error) {
		switch request.(type) {
		case msg.SetKey:
			return msg.StoredKey{Source: "OS keyring"}, nil
		case msg.KeyStatus:
			return []contract.KeyInfo(nil), nil
		}
		return msg.Done{}, nil
	})
}

// Every method at every door with both tokens and with none. Source:
// interface.md 3 and 4, mcp-state.md 13.
func TestMethods_Roles(t *testing.T) {
	t.Parallel()
	var requested func(msg.Requested)
	r := newRig(t, func(o *Options) { o.Commands = nil })
	r.house()
	requested = r.d.requested

	may := map[contract.Method]bool{
		"subscribe": true, "unsubscribe": true, "list_conversations": true, "get_conversation": true, "list_providers": true,
		"get_provider_auth_status": true, "get_sidecar_status": true, "acp_session_usage": true, "get_tree": true, "list_terminals": true,
		"get_session": true, // Tells a page its own role.
	}
	owner, monitor := r.window(ownerToken), r.window(monitorToken)
	for _, m := range append(append([]contract.Method{}, contract.Methods...), "no_such_method") {
		_, known := table[m]
		if known == (m == "no_such_method") {
			t.Errorf("%s: in the table: %t", m, known)
		}
		// What the owner gets, by the door: 0 for a result.
		bySocket, byCall := 0, 0
		switch {
		case !known:
			bySocket, byCall = contract.CodeNoMethod, contract.CodeNoMethod
		case m == contract.MethodUnsubscribe:
			byCall = contract.CodeInvalid // Nothing is pushed there.
		case m == contract.MethodSubscribe:
			byCall = contract.CodeInvalid
		}
		check := func(door string, f frame, want int) {
			t.Helper()
			switch {
			case want == 0 && (f.Error != nil || len(f.Result) == 0):
				t.Errorf("%s %s: %+v", door, m, f.Error)
			case want != 0 && (f.Error == nil || f.Error.Code != want):
				t.Errorf("%s %s: %s %+v, want %d", door, m, f.Result, f.Error, want)
			case want == contract.CodeForbidden && f.Error.Message != "This read-only Monitor cannot invoke that application command.":
				t.Errorf("%s %s: %q", door, m, f.Error.Message)
			}
		}
		lesser := func(want int) int {
			if known && !may[m] {
				return contract.CodeForbidden
			}
			return want
		}
		before := len(r.node.seen(&r.node.asked))
		check("monitor's socket", monitor.call(string(m), paramsOf(m)), lesser(bySocket))
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, m, paramsOf(m))
		check("monitor's call", r.rpc(request, "Authorization", "Bearer "+monitorToken), lesser(byCall))
		if after := len(r.node.seen(&r.node.asked)); known && !may[m] && after != before {
			t.Errorf("%s of a monitor reached an actor", m)
		}
		check("owner's socket", owner.call(string(m), paramsOf(m)), bySocket)
		check("owner's call", r.rpc(request), byCall)
		if status, _, body := r.do("POST", "/rpc", request, "Authorization", ""); status != http.StatusUnauthorized || strings.Contains(body, "result") {
			t.Errorf("%s without a token: %d %s", m, status, body)
		}
		// The bus lets only those requests through that its user may send.
		var f frame
		requested(msg.Requested{Subject: "command." + string(m), Params: []byte(paramsOf(m)), Reply: func(b []byte) {
			if err := json.Unmarshal(b, &f); err != nil {
				t.Errorf("%s on the bus: %q", m, b)
			}
		}})
		check("bus", f, byCall)
	}
	if status, _, _ := r.do("GET", "/ws", "", "Authorization", ""); status != http.StatusUnauthorized {
		t.Errorf("an upgrade without a token: %d", status)
	}
}

// Where each method goes and what it returns.
func TestMethods_Routing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	for m := range toOwner {
		params := `{"session_id":"c1","title":"x"}`
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, m, params))
		if string(f.Result) != fmt.Sprintf(`{"method":%q}`, m) {
			t.Errorf("%s: %s %+v", m, f.Result, f.Error)
		}
		all := r.node.seen(&r.node.asked)
		last := all[len(all)-1]
		c, ok := last.request.(msg.Command)
		if last.to != "conversation:c1" || !ok || c.Method != m || string(c.Params) != params {
			t.Errorf("%s went to %s: %+v", m, last.to, last.request)
		}
	}
	for _, tc := range []struct{ method, params, result string }{
		{"get_session", `{}`, `{"role":"owner","boot_id":"boot-1","version":"` + version() + `","project_path":"/home/p","head":0}`},
		{"list_conversations", `{}`, `[]`},
		{"list_keys", `{}`, `[]`},
		{"list_audit", `{}`, `[]`},
		{"get_settings", `{}`, `{"app":{},"providers":{}}`},
		{"acp_session_usage", `{"session_id":"c2"}`, `null`},
		{"get_sidecar_status", `{}`, ``},
		{"trust_project", `{"project_path":"/x","trusted":true}`, `{}`},
		{"reset_actor", `{"name":"sidecar"}`, `{"state":"starting"}`},
		{"delete_key", `{"account":"github-token"}`, `{}`},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error != nil || tc.result != "" && string(f.Result) != tc.result {
			t.Errorf("%s: %s %+v, want %s", tc.method, f.Result, f.Error, tc.result)
		}
	}
}

// What is refused before an actor hears of it, and names its field.
func TestMethods_BadParams(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	for _, tc := range []struct{ method, params, text string }{
		{"get_conversation", `{}`, "session_id: "},
		{"get_conversation", `{"session_id":""}`, "session_id: "},
		{"get_conversation", `{"session_id":"a.b"}`, "session_id: "},
		{"get_conversation", `{"session_id":"*"}`, "session_id: "},
		{"get_conversation", `{"session_id":"` + strings.Repeat("a", 65) + `"}`, "session_id: "},
		{"get_conversation", `{"session_id":7}`, "session_id: want a string, got number"},
		{"send_api_agent_message", `{"session_id":null}`, "session_id: "},
		{"one_shot", `{"session_id":"../x"}`, "session_id: "},
		{"delete_conversation", `{}`, "session_id: "},
		{"acp_session_usage", `{"session_id":"a b"}`, "session_id: "},
		{"get_provider_auth_status", `{"provider":"nobody"}`, "nobody"},
		{"get_provider_auth_status", `{"provider":[]}`, "provider: want a string, got array"},
		{"set_key", `{"account":"other","value":"` + secretKey + `"}`, "account: want one of"},
		{"set_key", `{"account":"api-key-anthropic","value":" "}`, "value: "},
		{"set_key", `{"account":"api-key-anthropic","value":["` + secretKey + `"]}`, "value: want a string, got array"},
		{"delete_key", `{}`, "account: want one of"},
		{"trust_project", `{"trusted":true}`, "project_path: "},
		{"trust_project", `{"project_path":"/x","trusted":"yes"}`, "trusted: want true or false, got string"},
		{"reset_actor", `{}`, "name: "},
		{"reset_actor", `{"name":"` + strings.Repeat("x", 300) + `"}`, "name: "},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error == nil || f.Error.Code != contract.CodeBadParams || !strings.Contains(f.Error.Message, tc.text) || strings.Contains(f.Error.Message, secretKey) {
			t.Errorf("%s %s: %+v", tc.method, tc.params, f.Error)
		}
	}
	if n := len(r.node.seen(&r.node.asked)); n != 0 {
		t.Errorf("%d requests reached an actor", n)
	}
}

// A conversation that sleeps is woken, one that does not exist is not; a start
// and a one shot make their own.
func TestMethods_Wake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wakes := map[gen.Atom]int{}
	r.node.on(msg.SessionsSup, func(request any) (any, error) {
		e := request.(msg.Ensure)
		if !e.User {
			t.Error("a person's command was not marked so")
		}
		if e.Name == "conversation:c2" {
			return msg.Ensured{Err: msg.RefuseFull(400)}, nil
		}
		wakes[e.Name]++ // Calls of this test come one after the other.
		r.node.on(e.Name, func(any) (any, error) { return msg.Reply{Result: "awake"}, nil })
		return msg.Ensured{Created: true}, nil
	})
	for _, tc := range []struct {
		method, id, result string
		code               int
	}{
		{"send_api_agent_message", "c1", `"awake"`, 0},
		{"send_api_agent_message", "c1", `"awake"`, 0},
		{"send_api_agent_message", "nobody", "", contract.CodeNotFound},
		{"delete_conversation", "nobody", "", contract.CodeNotFound},
		{"get_conversation", "c2", "", contract.CodeOverLimit},
		{"start_api_agent_session", "new1", `"awake"`, 0},
		{"one_shot", "new2", `"awake"`, 0},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"session_id":%q}}`, tc.method, tc.id))
		switch {
		case tc.code == 0 && string(f.Result) != tc.result, tc.code != 0 && (f.Error == nil || f.Error.Code != tc.code):
			t.Errorf("%s %s: %s %+v", tc.method, tc.id, f.Result, f.Error)
		case tc.code == contract.CodeNotFound && f.Error.Message != "No active session: "+tc.id:
			t.Errorf("%s %s: %q", tc.method, tc.id, f.Error.Message)
		}
	}
	if len(wakes) != 3 || wakes["conversation:c1"] != 1 {
		t.Errorf("woken: %v", wakes)
	}
	// Deleted while it is asked: it does not stay awake, and is not asked for ever.
	r.node.on(msg.SessionsSup, func(any) (any, error) { return msg.Ensured{}, nil })
	r.node.on("conversation:c1", nil)
	if f := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"get_conversation","params":{"session_id":"c1"}}`); f.Error == nil || f.Error.Code != contract.CodeInternal {
		t.Errorf("%+v", f)
	}
}

// What goes wrong behind a door is a sentence in front of it, with a reference
// into the log where the log knows more.
func TestMethods_Failures(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Providers = fakeProviders{err: errors.New("catalogue is broken.")} })
	answer := func(v any, err error) func(any) (any, error) { return func(any) (any, error) { return v, err } }
	for _, tc := range []struct {
		name, method, params string
		at                   gen.Atom
		reply                func(any) (any, error)
		code                 int
		text                 string
		logged               bool
	}{
		{"timeout", "get_tree", `{}`, msg.Inspect, answer(nil, gen.ErrTimeout), contract.CodeInternal, "reference", true},
		{"mailbox full", "get_tree", `{}`, msg.Inspect, answer(nil, gen.ErrProcessMailboxFull), contract.CodeOverLimit, "try again", false},
		{"not running", "get_tree", `{}`, msg.Inspect, nil, contract.CodeInternal, "try again", false},
		{"conversation slow", "get_conversation", `{"session_id":"c1"}`, "conversation:c1", answer(nil, gen.ErrTimeout), contract.CodeInternal, "reference", true},
		{"conversation full", "get_conversation", `{"session_id":"c1"}`, "conversation:c1", answer(nil, gen.ErrProcessMailboxFull), contract.CodeOverLimit, "try again", false},
		{"conversation strange", "get_conversation", `{"session_id":"c1"}`, "conversation:c1", answer(7, nil), contract.CodeInternal, "reference", true},
		{"conversation refuses", "get_conversation", `{"session_id":"c1"}`, "conversation:c1", answer(msg.Reply{Failure: contract.Answered("user")}, nil), contract.CodeAnswered, "already answered", false},
		{"panic", "get_tree", `{}`, msg.Inspect, func(any) (any, error) { panic("of a test") }, contract.CodeInternal, "reference", true},
		{"key not stored", "set_key", paramsOf(contract.MethodSetKey), msg.Secret, answer(msg.StoredKey{Err: errors.New("the OS keyring is not available: locked")}, nil), contract.CodeInternal, "The OS keyring is not available", false},
		{"secret strange", "set_key", paramsOf(contract.MethodSetKey), msg.Secret, answer("x", nil), contract.CodeInternal, "reference", true},
		{"settings", "set_settings", `{"x":1}`, msg.Store, answer(msg.Settings{Failure: contract.BadParam("x", "is no setting")}, nil), contract.CodeBadParams, "x: ", false},
		{"trust", "trust_project", paramsOf(contract.MethodTrustProject), msg.Store, answer(msg.Done{Err: errors.New("disk full")}, nil), contract.CodeInternal, "Disk full", false},
		{"operator", "start_actor", `{"name":"sidecar"}`, msg.EnginesSup, answer(msg.ChildAnswer{Err: msg.RefuseState("sidecar", msg.StateDown, "")}, nil), contract.CodeConflict, "sidecar", false},
		{"providers", "list_providers", `{}`, "none", nil, contract.CodeInternal, "Catalogue is broken", false},
		{"unknown part", "stop_actor", `{"name":"store:1"}`, "none", nil, contract.CodeNotFound, "store:1", false},
		{"tree strange", "get_tree", `{}`, msg.Inspect, answer("x", nil), contract.CodeInternal, "reference", true},
		{"unencodable", "get_conversation", `{"session_id":"c1"}`, "conversation:c1", answer(msg.Reply{Result: func() {}}, nil), contract.CodeInternal, "could not be encoded", false},
	} {
		r.node.on(tc.at, tc.reply)
		before := len(r.logs.String())
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error == nil || f.Error.Code != tc.code || !strings.Contains(f.Error.Message, tc.text) {
			t.Errorf("%s: %s %+v", tc.name, f.Result, f.Error)
			continue
		}
		logged := r.logs.String()[before:]
		if tc.logged {
			ref := strings.TrimSuffix(f.Error.Message[strings.LastIndexByte(f.Error.Message, ' ')+1:], ".")
			if !strings.Contains(logged, "ref="+ref) {
				t.Errorf("%s: the log does not know %s: %s", tc.name, ref, logged)
			}
		}
		r.node.on(msg.Store, fakeStore)
	}
}

// A key that changed makes every window probe again, and the event holds none
// of it.
func TestMethods_KeyChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"set_key","params":%s}`, paramsOf(contract.MethodSetKey)))
	r.rpc(`{"jsonrpc":"2.0","id":1,"method":"set_settings","params":{"providers":{}}}`)
	if len(r.log.events) < 2 {
		t.Fatalf("%d events", len(r.log.events))
	}
	for _, e := range r.log.events {
		if e.Subject != contract.SubjectProviderAuth || strings.Contains(string(e.Envelope), secretKey) {
			t.Errorf("%s", e.Envelope)
		}
	}
	for _, a := range r.node.seen(&r.node.asked) {
		if strings.Contains(fmt.Sprintf("%v %+v", a.request, a.request), secretKey) {
			t.Errorf("printing %T tells the key", a.request)
		}
	}
}

// command.> takes what the other doors take, and answers everything.
func TestRequested(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	for _, tc := range []struct {
		subject, params string
		code            int
	}{
		{"command.get_session", ``, 0},
		{"command.get_session", `{}`, 0},
		{"command.get_session", ` {} `, 0},
		{"command.get_session", `null`, 0},
		{"command.get_session", `[]`, contract.CodeBadParams},
		{"command.get_session", `7`, contract.CodeBadParams},
		{"command.get_session", `{`, contract.CodeParse},
		{"command.get_session", "{\"a\":\"\xff\"}", contract.CodeParse},
		{"command.nope", `{}`, contract.CodeNoMethod},
		{"command.get_session.more", `{}`, contract.CodeNoMethod},
		{"command.", `{}`, contract.CodeNoMethod},
		{"ops.restart", `{}`, contract.CodeNoMethod},
		{"command.get_conversation", `{"session_id":"c1"}`, 0},
		{"command.get_conversation", `{"session_id":5}`, contract.CodeBadParams},
	} {
		var answers []string
		r.d.requested(msg.Requested{Subject: tc.subject, Params: []byte(tc.params), Reply: func(b []byte) { answers = append(answers, string(b)) }})
		var f map[string]json.RawMessage
		if len(answers) != 1 || json.Unmarshal([]byte(answers[0]), &f) != nil || len(f) != 1 {
			t.Errorf("%s %q: answers %q", tc.subject, tc.params, answers)
			continue
		}
		var failure contract.Failure
		_ = json.Unmarshal(f["error"], &failure)
		if failure.Code != tc.code || tc.code == 0 && f["result"] == nil {
			t.Errorf("%s %q: %s", tc.subject, tc.params, answers[0])
		}
	}
}

// The figures tell what happened and nothing that a peer chose.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Gauges = map[string]func() float64{"packetbench_test_gauge": func() float64 { return 42 }}
	})
	r.house()
	w := r.window(ownerToken)
	s := w.subscribe(`{"subjects":[">"]}`)
	r.publish("c1", 3)
	w.events(s.Subscription, 3)
	r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"set_key","params":%s}`, paramsOf(contract.MethodSetKey)))
	r.rpc(`{"jsonrpc":"2.0","id":1,"method":"chosen_by_a_peer"}`)
	r.rpc(`{"jsonrpc":"2.0","id":1,"method":"delete_key","params":{"account":"x"}}`)
	eventually(t, func() bool { // The place is noted after the write.
		_, _, body := r.do("GET", "/metrics", "")
		return strings.Contains(body, "packetbench_viewer_lag_events 0\n")
	}, func() string { return "the lag stays" })
	for _, token := range []string{ownerToken, monitorToken} {
		status, _, body := r.do("GET", "/metrics?token="+token, "", "Authorization", "")
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		for _, want := range []string{
			`packetbench_requests_total{method="set_key",outcome="ok"} 1`, `packetbench_requests_total{method="unknown",outcome="refused"} 1`,
			`packetbench_requests_total{method="delete_key",outcome="refused"} 1`, `packetbench_requests_total{method="subscribe",outcome="ok"} 1`,
			"packetbench_viewers 1", "packetbench_viewer_lag_events 0", "packetbench_log_head ", "packetbench_test_gauge 42", "packetbench_http_requests_total",
			"packetbench_events_sent_total", "packetbench_request_seconds_count", "go_goroutines",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s", want)
			}
		}
		for _, secret := range []string{ownerToken, monitorToken, secretKey, "chosen_by_a_peer", "c1"} {
			if strings.Contains(body, secret) {
				t.Errorf("the figures tell %s", secret)
			}
		}
	}
}
