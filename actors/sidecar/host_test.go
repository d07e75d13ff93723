package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// bench drives a core and words its effects.
type bench struct {
	t testing.TB
	h *host
}

func newBench(t testing.TB) *bench {
	k := new(keys)
	k.add("sk-hidden-0123")
	return &bench{t: t, h: newHost(k.hide)}
}

func peer(id contract.ConversationID) gen.PID { return gen.PID{Node: "n", ID: uint64(len(id))} }

// lines feeds lines of the child as one burst.
func (b *bench) lines(lines ...string) *bench {
	var list []heard
	for _, l := range lines {
		if h, ok := hear(child.Line{Text: []byte(l)}); ok {
			list = append(list, h)
		}
	}
	b.h.heard(list)
	return b
}

const readyLine = `{"type":"ready","pid":7,"version":"0.1.0","protocolVersion":11}`

// open opens a session; its request is prepared at once.
func (b *bench) open(id contract.ConversationID, turn contract.TurnID) *bench {
	b.h.opening(peer(id), msg.HostOpen{HostSend: msg.HostSend{Conversation: id, Turn: turn, Text: "hello"}})
	if s := b.h.sessions[id]; s != nil {
		b.h.prepared(prepared{session: id, serial: s.serial, line: []byte(`{"type":"start_session"}`)})
	}
	return b
}

func (b *bench) send(id contract.ConversationID, turn contract.TurnID) *bench {
	b.h.send(peer(id), msg.HostSend{Conversation: id, Turn: turn, Text: "again"})
	return b
}

// take words the effects so far. Timers and debug notes are left out.
func (b *bench) take() []string {
	var out []string
	for _, e := range b.h.take() {
		switch e := e.(type) {
		case write:
			out = append(out, "write "+strings.TrimRight(e.kind, "0123456789"))
			if e.then != nil {
				out = append(out, fmt.Sprintf("then %s %+v", e.session.id, e.then))
			}
		case tell:
			out = append(out, fmt.Sprintf("tell %s %s", e.session.id, word(e.message)))
		case up:
			out = append(out, "up "+word(e.message))
		case credit:
			out = append(out, fmt.Sprintf("credit %d", e.lines))
		case kill:
			out = append(out, "kill")
		case note:
			if e.level != levelDebug {
				out = append(out, "log "+e.text)
			}
		case finish:
			out = append(out, fmt.Sprintf("finish %v later=%t", e.reason, e.after != noWait))
		}
	}
	return out
}

func word(m any) string {
	switch m := m.(type) {
	case msg.Emitted:
		var kinds []string
		for _, e := range m.Events {
			body, _ := contract.Encode(e)
			kinds = append(kinds, string(e.Kind())+begin(string(body), 60))
		}
		return string(m.Turn) + " " + strings.Join(kinds, " ")
	case msg.Owns:
		return "owns " + string(m.Conversation)
	case msg.Released:
		return "released " + string(m.Conversation)
	case msg.Status:
		return strings.TrimSpace(string(m.State) + " " + m.LastReason)
	case msg.TurnClosed:
		return "closed " + string(m.Turn)
	case msg.HostRefused:
		return fmt.Sprintf("refused %s gone=%t %s", m.Turn, m.Gone, m.Text)
	}
	return fmt.Sprintf("%T%+v", m, m)
}

func event(kind, session, turn, rest string) string {
	if turn != "" {
		turn = `,"turnId":"` + turn + `"`
	}
	return fmt.Sprintf(`{"type":%q,"sessionId":%q%s%s}`, kind, session, turn, rest)
}

func say(session, turn, s string) string { return event("chunk", session, turn, `,"text":"`+s+`"`) }

func TestCore(t *testing.T) {
	t.Parallel()
	const tooOld = "The agent sidecar speaks protocol 10, PacketBench needs 11 or newer. Rebuild it (make sidecar) or unset PACKETBENCH_SIDECAR_PATH."
	ready := func(b *bench) { b.lines(readyLine).open("c", "t-1").h.take() }
	for _, tc := range []struct {
		name  string
		given func(*bench)
		when  func(*bench)
		want  []string
	}{
		{
			name: "opens wait for the handshake and are owned before the key leaves",
			when: func(b *bench) { b.open("c", "t-1").open("d", "t-4").lines(readyLine) },
			want: []string{
				"up running", "up owns conversation:c", "write start_session", "then c {Turn:t-1}",
				"up owns conversation:d", "write start_session", "then d {Turn:t-4}", "credit 1",
			},
		},
		{
			name: "an open that was not prepared waits on", given: func(b *bench) { b.lines(readyLine).h.take() },
			when: func(b *bench) {
				b.h.opening(peer("c"), msg.HostOpen{HostSend: msg.HostSend{Conversation: "c", Turn: "t-1"}})
			},
			want: nil,
		},
		{
			name: "what it needs is not there", given: func(b *bench) { b.lines(readyLine).h.take() },
			when: func(b *bench) {
				b.h.opening(peer("c"), msg.HostOpen{HostSend: msg.HostSend{Conversation: "c", Turn: "t-1"}})
				b.h.prepared(prepared{session: "c", serial: b.h.serial, refused: "MCP server 'x' is not available: it is disabled."})
			},
			want: []string{"tell c refused t-1 gone=false MCP server 'x' is not available: it is disabled."},
		},
		{
			name: "opened again: the session of before is closed first", given: ready,
			when: func(b *bench) { b.open("c", "t-2") },
			want: []string{"write close_session", "up released conversation:c", "up owns conversation:c", "write start_session", "then c {Turn:t-2}"},
		},
		{
			name: "cancelled while it waits",
			when: func(b *bench) {
				b.open("c", "t-1").h.cancel(msg.HostCancel{Conversation: "c", Turn: "t-1"})
				b.lines(readyLine)
			},
			want: []string{"tell c refused t-1 gone=false Cancelled by the user", "up running", "credit 1"},
		},
		{
			name: "closed while it waits",
			when: func(b *bench) { b.open("c", "t-1").h.closing("c"); b.lines(readyLine) },
			want: []string{"up running", "credit 1"},
		},
		{
			name: "set while it waits",
			when: func(b *bench) {
				b.open("c", "t-1").h.set(msg.HostSet{Conversation: "c", Ref: 3, Model: ptr("m")})
				b.lines(readyLine)
			},
			want: []string{"up running", "up owns conversation:c", "write start_session", "then c {Turn:t-1}", "write set_model", "write settled_", "credit 1"},
		},
		{
			name: "a burst is one Emitted per conversation", given: func(b *bench) { b.lines(readyLine).open("c", "t-1").open("d", "t-1").h.take() },
			when: func(b *bench) {
				b.lines(say("c", "t-1", "1"), say("d", "t-1", "2"), say("c", "t-1", "3"), say("d", "t-1", "4"))
			},
			want: []string{`tell c t-1 chunk"1" chunk"3"`, `tell d t-1 chunk"2" chunk"4"`, "credit 4"},
		},
		{
			name: "a question comes behind what was said before it", given: ready,
			when: func(b *bench) {
				b.lines(say("c", "t-1", "1"), event("permission_request", "c", "t-1", `,"toolUseId":"u","name":"Bash","input":{}`), say("c", "t-1", "2"))
			},
			want: []string{`tell c t-1 chunk"1"`, "tell c msg.Ask{Turn:t-1 ID:u Name:Bash Arguments:{} BatchID:<nil> BatchSize:<nil> Lasting:false Call: Kind: Paths:[]}", `tell c t-1 chunk"2"`, "credit 3"},
		},
		{
			name: "nothing of a turn after its end but its late count", given: ready,
			when: func(b *bench) {
				b.lines(event("done", "c", "t-1", ""), say("c", "t-1", "late"), event("turn_summary", "c", "t-1", `,"inputTokens":1`),
					event("done", "c", "t-1", ""), event("error", "c", "t-1", `,"message":"late"`), event("permission_request", "c", "t-1", `,"toolUseId":"u"`))
			},
			want: []string{
				`tell c t-1 done{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens`, "tell c closed t-1",
				`tell c t-1 turn-summary{"input_tokens":1,"output_tokens":0,"cache_read_input_tokens`, "credit 6",
			},
		},
		{
			name: "F16: a late end of an interrupted turn does not end the next one", given: func(b *bench) {
				ready(b)
				b.lines(event("done", "c", "t-1", `,"cancelled":true`)).send("c", "t-2").h.take()
			},
			when: func(b *bench) { b.lines(event("done", "c", "t-1", ""), say("c", "t-2", "new")) },
			want: []string{`tell c t-2 chunk"new"`, "credit 2"},
		},
		{
			name: "a child that names no turns speaks of the one in flight", given: ready,
			when: func(b *bench) { b.lines(say("c", "", "x"), event("done", "c", "", "")) },
			want: []string{`tell c t-1 chunk"x" done{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens`, "tell c closed t-1", "credit 2"},
		},
		{
			name: "the end of a command is not the end of a turn", given: func(b *bench) { ready(b); b.lines(say("c", "t-1", "x")).h.take() },
			when: func(b *bench) { b.lines(say("c", "", "[echo] set_model: m"), event("done", "c", "", "")) },
			want: []string{`tell c t-1 chunk"[echo] set_model: m"`, "credit 2"},
		},
		{
			name: "an error without a turn is a failed command of an old child", given: func(b *bench) {
				ready(b)
				b.lines(event("done", "c", "t-1", "")).h.set(msg.HostSet{Conversation: "c", Ref: 5, Model: ptr("m")})
				b.h.take()
			},
			when: func(b *bench) { b.lines(event("error", "c", "", `,"message":"setModel failed"`)) },
			want: []string{"tell c msg.HostReply{Ref:5 Text:setModel failed}", "credit 1"},
		},
		{
			name: "a failed answer to a prompt is logged", given: ready,
			when: func(b *bench) {
				b.lines(event("error", "c", "", `,"message":"No pending edit","request":"edit_response"`))
			},
			want: []string{"log request refused type=edit_response: No pending edit", "credit 1"},
		},
		{
			name: "a key in an error is hidden", given: ready,
			when: func(b *bench) {
				b.lines(event("error", "c", "t-1", `,"message":"bad key sk-hidden-0123"`), "stray sk-hidden-0123")
			},
			want: []string{`tell c t-1 error{"message":"bad key [key]"}`, "tell c closed t-1", "log line is no event: stray [key]", "credit 2"},
		},
		{
			name: "a session that the child has lost is opened again", given: func(b *bench) {
				ready(b)
				b.lines(event("error", "c", "t-1", "")).send("c", "t-2").h.take()
			},
			when: func(b *bench) {
				b.lines(event("error", "c", "", `,"message":"No active session: c","request":"send_message"`)).send("c", "t-3")
			},
			want: []string{
				"tell c refused t-2 gone=true No active session: c", "write close_session", "up released conversation:c",
				"credit 1", "tell c refused t-3 gone=true No active session: c",
			},
		},
		{
			name: "a turn that the child refuses ends with its text", given: func(b *bench) {
				ready(b)
				b.lines(event("done", "c", "t-1", "")).send("c", "t-2").h.take()
			},
			when: func(b *bench) {
				b.lines(event("error", "c", "", `,"message":"Invalid send_message","request":"send_message"`))
			},
			want: []string{`tell c t-2 error{"message":"Invalid send_message"}`, "tell c closed t-2", "credit 1"},
		},
		{
			name: "a setting that fails late is said", given: func(b *bench) {
				ready(b)
				b.h.set(msg.HostSet{Conversation: "c", Ref: 5, Model: ptr("m")})
				b.h.answers = true
				b.h.settingDue(settingDue{"c", b.h.serial})
				b.h.take()
			},
			when: func(b *bench) {
				b.lines(event("error", "c", "", `,"message":"no such model","request":"set_model"`))
			},
			want: []string{"tell c msg.HostSaid{Level:warning Text:The agent sidecar did not take a setting: no such model Once:false}", "credit 1"},
		},
		{
			name: "a second ready changes nothing, unless it is too old", given: ready,
			when: func(b *bench) { b.lines(readyLine) },
			want: []string{"log a second ready is ignored", "credit 1"},
		},
		{
			name: "an incompatible one costs every session and takes no more", given: func(b *bench) {
				ready(b)
				b.open("d", "t-1").lines(event("done", "d", "t-1", "")).h.take()
			},
			when: func(b *bench) {
				b.lines(strings.Replace(readyLine, "11", "10", 1)).send("d", "t-2").open("e", "t-1")
			},
			want: []string{
				"log a second ready is ignored", "up incompatible " + tooOld,
				`tell c t-1 error{"message":"The agent sidecar speaks protocol 10, PacketBenc`, "tell c closed t-1",
				`tell d  error{"message":"The agent sidecar speaks protocol 10, PacketBenc`, "credit 1",
				"tell d refused t-2 gone=false " + tooOld, "tell e refused t-1 gone=false " + tooOld,
			},
		},
		{
			name: "an incompatible one stays so when it ends", given: func(b *bench) { b.lines(strings.Replace(readyLine, "11", "10", 1)).h.take() },
			when: func(b *bench) { b.h.heard([]heard{{exit: &child.Exit{Code: 1}}}) },
			want: []string{"up failed " + tooOld, "finish " + msg.ErrIncompatible.Error() + " later=false"},
		},
		{
			name: "the end comes behind what was said", given: ready,
			when: func(b *bench) {
				h, _ := hear(child.Line{Text: []byte(say("c", "t-1", "last"))})
				b.h.heard([]heard{h, {exit: &child.Exit{Code: -1, Signal: "SIGKILL", Tail: "oops\n"}}})
			},
			want: []string{`tell c t-1 chunk"last"`, "up failed Sidecar exited with signal SIGKILL: oops", "finish Sidecar exited with signal SIGKILL: oops later=false", "credit 1"},
		},
		{
			name: "a turn that does not stop costs the child", given: ready,
			when: func(b *bench) {
				b.h.killing(msg.HostKill{Conversation: "c", Turn: "t-0"})
				b.h.killing(msg.HostKill{Conversation: "c", Turn: "t-1"})
				b.h.heard([]heard{{exit: &child.Exit{Code: -1, Signal: "SIGKILL"}}})
			},
			want: []string{"kill", "up failed " + textKilled, "finish " + textKilled + " later=false"},
		},
		{
			name: "an end before ready refuses who waits, and who comes", given: func(b *bench) { b.open("c", "t-1").h.take() },
			when: func(b *bench) { b.h.heard([]heard{{exit: &child.Exit{Code: 1}}}); b.open("d", "t-1") },
			want: []string{
				"tell c refused t-1 gone=false The agent sidecar ended before it was ready. Sidecar exited with code 1. Run packetbench doctor to see what is missing.",
				"up failed Sidecar exited with code 1", "finish Sidecar exited with code 1 later=true",
				"tell d refused t-1 gone=false The agent sidecar ended before it was ready. Sidecar exited with code 1. Run packetbench doctor to see what is missing.",
			},
		},
		{
			name: "a turn sent to a child that has ended is for its successor", given: func(b *bench) {
				ready(b)
				b.h.heard([]heard{{exit: &child.Exit{}}})
				b.h.take()
			},
			when: func(b *bench) { b.send("c", "t-2") },
			want: []string{"tell c refused t-2 gone=true No active session: c"},
		},
		{
			name: "draining: nothing begins, and the end is quiet", given: ready,
			when: func(b *bench) {
				b.h.opening(peer("d"), msg.HostOpen{HostSend: msg.HostSend{Conversation: "d", Turn: "t-1"}})
				b.h.drain()
				b.send("c", "t-2").open("e", "t-1")
				b.h.heard([]heard{{exit: &child.Exit{}}})
			},
			want: []string{
				"tell d refused t-1 gone=false " + textDraining, "tell c refused t-2 gone=false " + textDraining,
				"tell e refused t-1 gone=false " + textDraining, "finish " + gen.TerminateReasonShutdown.Error() + " later=false",
			},
		},
		{
			name: "a conversation that cannot be reached is given up", given: ready,
			when: func(b *bench) { s := b.h.sessions["c"]; b.h.unreachable(s); b.h.unreachable(s) },
			want: []string{"log conversation cannot be reached; its session is closed", "write close_session", "up released conversation:c"},
		},
		{
			name: "a start that cannot be sent is rolled back", given: ready,
			when: func(b *bench) {
				b.h.unwritten(write{session: b.h.sessions["c"], kind: typeStart})
				b.send("c", "t-2")
			},
			want: []string{
				"log request not sent type=start_session: the child does not read", "up released conversation:c",
				"tell c refused t-1 gone=false " + textNotReading, "tell c refused t-2 gone=true No active session: c",
			},
		},
		{
			name: "what is no session's is ignored", given: ready,
			when: func(b *bench) {
				b.lines(say("x", "t-1", "1"), event("later", "c", "t-1", ""), "", event("pending_edit", "c", "t-1", `,"path":"/a","after":"b"`))
				b.h.ack(msg.HostAck{Conversation: "x", N: 1})
				b.h.cancel(msg.HostCancel{Conversation: "x"})
				b.h.pass("x", typeEdit, nil)
			},
			want: []string{"credit 3"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tc.given != nil {
				tc.given(b)
			}
			tc.when(b)
			if got := b.take(); !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// No line of a conversation is lost or given back twice, whatever it gives back.
func TestCore_Credits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines(readyLine).open("c", "t-1").h.take()
	given := 0
	count := func() {
		for _, e := range b.h.take() {
			if c, ok := e.(credit); ok {
				given += c.lines
			}
		}
	}
	const n = 3 * msg.HostCredits
	for i := range n {
		b.lines(say("c", "t-1", "x"))
		count()
		if want := min(i+1, msg.HostCredits); given != want {
			t.Fatalf("%d lines: %d given back, want %d", i+1, given, want)
		}
	}
	b.h.ack(msg.HostAck{Conversation: "c", N: n - msg.HostCredits})
	if count(); given != msg.HostCredits {
		t.Fatalf("%d given back while it is as far behind as it may be", given)
	}
	b.h.ack(msg.HostAck{Conversation: "c", N: 1})
	if count(); given != n {
		t.Fatalf("%d of %d given back", given, n)
	}
	for range n {
		b.lines(say("c", "t-1", "x"))
	}
	b.h.closing("c")
	if count(); given != 2*n {
		t.Errorf("%d of %d given back after the close", given, 2*n)
	}
}

// Long runs are cut, so that a receiver is never busy for long.
func TestCore_MaxBatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines(readyLine).open("c", "t-1").h.take()
	lines := make([]string, 3*maxBatch+1)
	for i := range lines {
		lines[i] = say("c", "t-1", "x")
	}
	b.lines(lines...)
	sizes := []int{}
	for _, e := range b.h.take() {
		if m, ok := e.(tell); ok {
			sizes = append(sizes, len(m.message.(msg.Emitted).Events))
		}
	}
	if !slices.Equal(sizes, []int{maxBatch, maxBatch, maxBatch, 1}) {
		t.Errorf("sizes %v", sizes)
	}
}

func TestEndText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2000)
	stack := "node:internal/x:1\nError: first\n\nTypeError [CODE]: the cause\n" + strings.Repeat("    at f (file:1:1)\n", 60)
	for _, tc := range []struct {
		exit         child.Exit
		reason, text string
	}{
		{child.Exit{}, "Sidecar exited unexpectedly", "Run packetbench doctor"},
		{child.Exit{Code: 2, Tail: " boom \n"}, "Sidecar exited with code 2: boom", "Its last words were:\nboom"},
		{child.Exit{Broken: errors.New("x")}, "Sidecar exited with a line without an end (x)", ""},
		{child.Exit{Code: 1, Tail: stack}, "Sidecar exited with code 1: " + stack[strings.Index(stack, "TypeError"):][:stderrInReason], "first"},
		{child.Exit{Code: 1, Tail: long}, "Sidecar exited with code 1: " + strings.Repeat("é", stderrInReason/2), strings.Repeat("é", stderrInText/2)},
	} {
		h := newHost(func(s string) string { return s })
		reason, refusal := h.endText(tc.exit)
		if reason != tc.reason || !strings.Contains(refusal, tc.text) {
			t.Errorf("%+v: %q, %q", tc.exit, reason, refusal)
		}
		if len(reason) > 500 {
			t.Errorf("%d bytes are more than a status holds", len(reason))
		}
	}
}

// The requests as the wire has them. Source: sidecar-protocol.md 2.
func TestRequests(t *testing.T) {
	t.Parallel()
	on := contract.Posture{PlanMode: true, PermissionMode: contract.ModeAllowAll}
	off := contract.Posture{PermissionMode: contract.ModeAllowAll}
	open := msg.HostOpen{
		Session: msg.HostSession{
			Provider: "claude-oauth", Model: "m", Key: "sk-1", Project: "/p", Posture: contract.Posture{PermissionMode: contract.ModeAuto, ApproveWrites: true},
			Resume: "r", Trust: json.RawMessage(`[]`), Transcript: []contract.ResumeMessage{{Role: "user", Content: "a<b"}},
		},
		HostSend: msg.HostSend{Conversation: "c", Turn: "t-1", Text: "hi", Attachments: []contract.Attachment{{MediaType: "image/png", DataBase64: "AA==", Name: "x"}}},
	}
	bare := msg.HostOpen{HostSend: msg.HostSend{Conversation: "c", Turn: "t-1"}}
	permission := func(a msg.PermissionAnswer) any {
		return answer(msg.HostPermission{Conversation: "c", PermissionAnswer: a})
	}
	set := func(m msg.HostSet) any { m.Conversation = "c"; return settings(m) }
	for _, tc := range []struct {
		name string
		r    any
		want string
	}{
		{"start", start(open, map[string]json.RawMessage{"fs": json.RawMessage(`{"type":"stdio"}`)}, "http://127.0.0.1:1"), `{"type":"start_session","sessionId":"c","provider":"claude-oauth","model":"m","systemPrompt":"","allowedTools":[],"mcpServers":{"fs":{"type":"stdio"}},"mcpTrustSnapshot":[],"projectPath":"/p","initialMessage":"hi","turnId":"t-1","apiKey":"sk-1","resume":"r","attachments":[{"media_type":"image/png","data_base64":"AA=="}],"resumeMessages":[{"role":"user","content":"a<b"}],"permissionMode":"auto","approveWrites":true,"workspace":{"kind":"local","projectPath":"/p"},"baseUrl":"http://127.0.0.1:1"}`},
		{"start without anything: no snapshot is not an empty one", start(bare, nil, ""), `{"type":"start_session","sessionId":"c","provider":"","model":"","systemPrompt":"","allowedTools":[],"mcpServers":{},"projectPath":"","initialMessage":"","turnId":"t-1","workspace":{"kind":"local","projectPath":""}}`},
		{"send", turnRequest(msg.HostSend{Conversation: "c", Turn: "t-2", Text: "x"}), `{"type":"send_message","sessionId":"c","content":"x","turnId":"t-2"}`},
		{"retry", turnRequest(msg.HostSend{Conversation: "c", Turn: "t-2", Text: "x", Retry: true}), `{"type":"retry","sessionId":"c","turnId":"t-2"}`},
		{"allow", permission(msg.PermissionAnswer{ID: "u", Allowed: true, Decision: contract.AllowOnce, By: contract.ByUser}), `{"type":"permission_response","sessionId":"c","toolUseId":"u","decision":"allow_once","by":"user"}`},
		{"allow by a rule", permission(msg.PermissionAnswer{ID: "u", Allowed: true}), `{"type":"permission_response","sessionId":"c","toolUseId":"u","decision":"allow_once"}`},
		{"allow always", permission(msg.PermissionAnswer{ID: "u", Allowed: true, Decision: contract.AllowAlways, Reason: "no"}), `{"type":"permission_response","sessionId":"c","toolUseId":"u","decision":"allow_always"}`},
		{"deny", permission(msg.PermissionAnswer{ID: "u", Decision: contract.Deny, By: contract.ByTimeout}), `{"type":"permission_response","sessionId":"c","toolUseId":"u","decision":"deny","by":"timeout"}`},
		{"deny by a restart", permission(msg.PermissionAnswer{ID: "u", Decision: contract.Deny, By: contract.ByRestart}), `{"type":"permission_response","sessionId":"c","toolUseId":"u","decision":"deny","by":"policy"}`},
		{"plan on", set(msg.HostSet{Mode: &on}), `[{"type":"set_permission_mode","sessionId":"c","mode":"plan"}]`},
		{"plan off, model and approve", set(msg.HostSet{Mode: &off, Model: ptr("m"), ApproveWrites: ptr(false)}), `[{"type":"set_model","sessionId":"c","model":"m"},{"type":"set_permission_mode","sessionId":"c","mode":"allow_all"},{"type":"set_approve_writes","sessionId":"c","approveWrites":false}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := encode(tc.r)
			if err != nil || string(got) != tc.want {
				t.Errorf("got\n%s\nwant\n%s\n%v", got, tc.want, err)
			}
		})
	}
}

// A key is in no text that leaves; a word that is no key stays.
func TestKeys(t *testing.T) {
	t.Parallel()
	var k keys
	k.add("short")
	k.add("sk-0123456789")
	k.add("sk-0123456789")
	if got := k.hide("short sk-0123456789 sk-0123456789"); got != "short [key] [key]" {
		t.Errorf("got %q", got)
	}
}

// What a tool prints of its environment is shown without the key; a file that
// holds it is written back as it was.
func TestKeys_Lines(t *testing.T) {
	t.Parallel()
	k := new(keys)
	k.add("sk-ant-0123456789")
	for line, want := range map[string]string{
		`{"type":"tool_result","sessionId":"c","output":"A=sk-ant-0123456789\nB=1"}`: `{"type":"tool_result","sessionId":"c","output":"A=[key]\nB=1"}`,
		`{"type":"chunk","sessionId":"c","text":"it is sk-ant-0123456789."}`:         `{"type":"chunk","sessionId":"c","text":"it is [key]."}`,
		`{"type":"edit_baseline","sessionId":"c","before":"KEY=sk-ant-0123456789"}`:  `{"type":"edit_baseline","sessionId":"c","before":"KEY=sk-ant-0123456789"}`,
		`{"type":"pending_edit","sessionId":"c","after":"KEY=sk-ant-0123456789"}`:    `{"type":"pending_edit","sessionId":"c","after":"KEY=sk-ant-0123456789"}`,
		`{"type":"chunk","sessionId":"c","text":"nothing"}`:                          `{"type":"chunk","sessionId":"c","text":"nothing"}`,
	} {
		if got := string(k.clean(child.Line{Text: []byte(line)}).Text); got != want {
			t.Errorf("%s became %s", line, got)
		}
	}
}
