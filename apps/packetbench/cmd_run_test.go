package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

const zeroTokens = `"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0`

// opening are the first events of turn t-1.
var opening = []string{
	`- user-turn {"message_id":"m-1","content":"hi","attachments":[],"queued":false}`,
	`t-1 turn-started {"turn_id":"t-1"}`,
}

// ending is the end of a turn.
func ending(turn, outcome string) []string {
	cancelled := "false"
	if outcome == "cancelled" {
		cancelled = "true"
	}
	return []string{
		turn + ` done {` + zeroTokens + `,"cancelled":` + cancelled + `}`,
		turn + ` turn-ended {"turn_id":"` + turn + `","outcome":"` + outcome + `"}`,
	}
}

// starts makes the door answer a start with turn t-1 and then push lines.
func (d *door) starts(lines ...string) {
	d.does(contract.MethodStart, func(raw json.RawMessage) (any, *contract.Failure) {
		var p contract.StartParams
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, contract.Fail(contract.CodeBadParams, "%v", err)
		}
		// Deliberate: the events come before the answer, as they may.
		d.push(p.SessionID, append(append([]string{}, opening...), lines...)...)
		return contract.StartResult{SessionID: p.SessionID, TurnID: "t-1"}, nil
	})
}

// then makes the door push lines behind its answer to m.
func (d *door) then(m contract.Method, lines ...string) {
	d.does(m, func(raw json.RawMessage) (any, *contract.Failure) {
		var p contract.SessionParams
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, contract.Fail(contract.CodeBadParams, "%v", err)
		}
		d.push(p.SessionID, lines...)
		return contract.Empty{}, nil
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		door func(*door)
		args []string
		want ran // err is part of what stderr says.
	}{
		{
			name: "text", args: []string{"hi"},
			door: func(d *door) {
				d.starts(append([]string{`t-1 thinking {"text":"hm"}`, `t-1 chunk "Hel"`, `t-1 chunk "lo \u2014 \ud83d\ude00"`, `t-0 chunk "old"`}, ending("t-1", "done")...)...)
			},
			want: ran{0, "Hello \u2014 \U0001F600\n", "offline demo answers"},
		},
		{
			name: "tool activity goes to stderr", args: []string{"hi"},
			door: func(d *door) {
				d.starts(append([]string{
					`t-1 chunk "Looking"`, `t-1 tool-start {"id":"a","name":"bash"}`,
					`t-1 tool-result {"id":"a","name":"bash","content":"no\u001b[2Jsuch","is_error":true,"input":"{\"command\":\"x\"}"}`,
					`t-1 rate-limited {"retry_after_seconds":2}`, `t-1 notice {"message_id":"m-9","level":"info","text":"noted"}`, `t-1 chunk "Done\n"`,
				}, ending("t-1", "done")...)...)
			},
			want: ran{0, "Looking\nDone\n", "[bash] {\"command\":\"x\"}: failed: no?[2Jsuch\nThe provider asks to wait for 2 s; the turn goes on by itself.\nnoted\n"},
		},
		{
			name: "error", args: []string{"hi"},
			door: func(d *door) {
				d.starts(`t-1 chunk "So"`, `t-1 error {"message":"The provider is gone."}`, `t-1 turn-ended {"turn_id":"t-1","outcome":"error"}`)
			},
			want: ran{2, "So\n", "Error: The provider is gone.\n"},
		},
		{
			name: "cancelled from a window", args: []string{"hi"},
			door: func(d *door) { d.starts(ending("t-1", "cancelled")...) },
			want: ran{2, "", "cancelled from another window"},
		},
		{
			name: "service stopped", args: []string{"hi"},
			door: func(d *door) { d.starts(`t-1 turn-ended {"turn_id":"t-1","outcome":"interrupted"}`) },
			want: ran{2, "", "Send the message again"},
		},
		{
			name: "refused start", args: []string{"--provider", "claude", "hi"},
			door: func(d *door) {
				d.refuses(contract.MethodStart, contract.Fail(contract.CodeBadParams, "Unknown provider id: claude"))
			},
			want: ran{2, "", "packetbench: Unknown provider id: claude\n"},
		},
		{
			name: "a conversation that is gone", args: []string{"--session", "c-9", "hi"},
			door: func(d *door) {
				d.on(contract.MethodGetConversation, contract.Snapshot{})
				d.refuses(contract.MethodSend, contract.Fail(contract.CodeNotFound, "No active session: c-9"))
			},
			want: ran{1, "", "packetbench: There is no conversation c-9.\n"},
		},
		{
			name: "provider that is not ready", args: []string{"--provider", "anthropic", "hi"},
			door: func(*door) {},
			want: ran{1, "", "Claude (API) is not ready. No key."},
		},
		{
			name: "permission", args: []string{"hi"},
			door: func(d *door) {
				d.starts(`t-1 tool-start {"id":"a","name":"bash"}`, `t-1 prompt-opened {"id":"a","tier":"blocking","destructive":false}`, `t-1 permission-request {"id":"a","name":"bash","arguments":"{}"}`)
				d.then(contract.MethodRespondPermission, append([]string{`t-1 prompt-resolved {"id":"a","decision":"deny","by":"user"}`}, ending("t-1", "done")...)...)
			},
			want: ran{3, "", "nobody could answer"},
		},
		{
			name: "edit", args: []string{"hi"},
			door: func(d *door) {
				d.starts(`t-1 tool-start {"id":"a","name":"write_file"}`, `t-1 pending-edit {"id":"a","path":"p","content":"c"}`)
				d.then(contract.MethodRespondEdit, append([]string{`t-1 edit-resolved {"id":"a","decision":"reject","by":"user"}`}, ending("t-1", "done")...)...)
			},
			want: ran{3, "", "nobody could answer"},
		},
		{
			name: "permission that a window answered first", args: []string{"hi"},
			door: func(d *door) {
				d.starts(`t-1 tool-start {"id":"a","name":"bash"}`, `t-1 prompt-opened {"id":"a","tier":"blocking","destructive":false}`, `t-1 permission-request {"id":"a","name":"bash","arguments":"{}"}`)
				d.does(contract.MethodRespondPermission, func(raw json.RawMessage) (any, *contract.Failure) {
					var p contract.SessionParams
					_ = json.Unmarshal(raw, &p)
					d.push(p.SessionID, ending("t-1", "done")...)
					return nil, contract.Answered(contract.ByUser)
				})
			},
			want: ran{0, "", "needs a permission"},
		},
		{
			name: "connection lost", args: []string{"hi"},
			door: func(d *door) {
				d.does(contract.MethodStart, func(json.RawMessage) (any, *contract.Failure) {
					d.drop()
					return contract.StartResult{TurnID: "t-1"}, nil
				})
			},
			want: ran{1, "", "onnection to the service ended"},
		},
		{
			name: "gap", args: []string{"hi"},
			door: func(d *door) {
				d.does(contract.MethodStart, func(json.RawMessage) (any, *contract.Failure) {
					d.notify(d.conn, "gap", contract.GapParams{Subscription: "s-1", From: 1, To: 2})
					return contract.StartResult{TurnID: "t-1"}, nil
				})
			},
			want: ran{1, "", "packetbench export c-"},
		},
		{
			name: "empty message", args: []string{"  "}, door: func(*door) {},
			want: ran{2, "", "The message is empty"},
		},
		{
			name: "unknown mode", args: []string{"--permission-mode", "yolo", "hi"}, door: func(*door) {},
			want: ran{2, "", "--permission-mode: want auto"},
		},
		{
			name: "bad id", args: []string{"--session", "a.b", "hi"}, door: func(*door) {},
			want: ran{2, "", "--session: want 1 to 64"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			tc.door(d)
			got := d.command(append([]string{"run"}, tc.args...)...)
			if got.code != tc.want.code || got.out != tc.want.out || !strings.Contains(got.err, tc.want.err) {
				t.Fatalf("exit %d\nstdout %q\nstderr %s\nwant exit %d, stdout %q, stderr with %q", got.code, got.out, got.err, tc.want.code, tc.want.out, tc.want.err)
			}
		})
	}
}

// TestRun_OneOutput: where text and activity end in one place, no line holds
// both, and the text of a second request begins a line.
func TestRun_OneOutput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		shared bool
		want   string
	}{
		{"one place", true, "Looking\n[bash]\n[bash] {}: ok\nDone\nStopping\n"},
		{"two places", false, "Looking[bash]\n[bash] {}: ok\n\nDoneStopping\n\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var both bytes.Buffer
			turn := &oneTurn{cmd: &runCmd{}, log: &both, out: &printer{w: &both}, shared: tc.shared}
			for _, e := range []contract.Event{
				contract.Chunk("Look"), contract.Chunk("ing"),
				contract.ToolStart{ID: "a", Name: "bash"},
				contract.ToolResult{ID: "a", Name: "bash", Input: "{}"},
				contract.Chunk("Done"),
			} {
				turn.show(t.Context(), e)
			}
			turn.note("Stopping")
			turn.endLine()
			if both.String() != tc.want {
				t.Errorf("%q; want %q", both.String(), tc.want)
			}
		})
	}
}

func TestSameOutput(t *testing.T) {
	t.Parallel()
	create := func() *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	a, b := create(), create()
	if !sameOutput(a, a) || sameOutput(a, b) || sameOutput(a, &bytes.Buffer{}) {
		t.Errorf("a file is itself: %t, another one: %t, a buffer: %t", sameOutput(a, a), sameOutput(a, b), sameOutput(a, &bytes.Buffer{}))
	}
}

// TestRun_Params: flags reach the start, and the demo is chosen only when
// nothing else is ready.
func TestRun_Params(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.starts(ending("t-1", "done")...)
	dir := t.TempDir()
	got := d.command("run", "--project", dir, "--model", "m", "--permission-mode", "deny_all", "--plan", "--allow-tool", "bash", "--allow-tool", "a,b", "hi there")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	var p contract.StartParams
	if calls := d.called(contract.MethodStart); len(calls) != 1 || json.Unmarshal([]byte(calls[0]), &p) != nil {
		t.Fatalf("start was called with %v", calls)
	}
	if p.Provider != "demo" || p.Row != "api-demo" || p.Model != "m" || p.ProjectPath != dir || p.InitialMessage != "hi there" ||
		p.PermissionMode != "deny_all" || !p.PlanMode || strings.Join(p.AllowedTools, "|") != "bash|a,b" || !contract.ValidID(string(p.SessionID)) {
		t.Fatalf("start was called with %+v", p)
	}
	if d.tokens[0] != "owner-token" {
		t.Fatalf("run came with the token %q", d.tokens[0])
	}
}

func TestRun_JSON(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.starts(append([]string{`t-1 chunk "a"`}, ending("t-1", "done")...)...)
	got := d.command("run", "--json", "hi")
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if got.code != 0 || len(lines) != len(opening)+3 {
		t.Fatalf("%+v", got)
	}
	for i, line := range lines {
		var e contract.Envelope
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != uint64(i+1) {
			t.Fatalf("line %d is %q (%v)", i, line, err)
		}
	}
}

// TestRun_Existing: a conversation that exists gets a send, changed as the
// flags say.
func TestRun_Existing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		code int
		err  string
		want map[contract.Method]string
	}{
		{name: "as it is", want: map[contract.Method]string{contract.MethodSend: `{"session_id":"s1","message":"hi"}`}},
		{
			name: "changed", args: []string{"--model", "n", "--permission-mode", "auto", "--plan", "--provider", "api-demo"},
			want: map[contract.Method]string{
				contract.MethodChangeModel:       `{"session_id":"s1","new_model":"n"}`,
				contract.MethodSetPermissionMode: `{"session_id":"s1","mode":"auto"}`,
				contract.MethodSetPlanMode:       `{"session_id":"s1","enabled":true}`,
			},
		},
		{name: "another provider", args: []string{"--provider", "anthropic"}, code: 2, err: "belongs to provider demo"},
		{name: "another project", args: []string{"--project", "."}, code: 2, err: "fixed when a conversation starts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			d.on(contract.MethodGetConversation, contract.Snapshot{Conversation: contract.Conversation{
				Summary: contract.Summary{SessionID: "s1", Provider: "demo", Row: "api-demo", Model: "m"},
				Posture: contract.Posture{PermissionMode: contract.ModeAskForRisky},
			}})
			for _, m := range []contract.Method{contract.MethodChangeModel, contract.MethodSetPermissionMode, contract.MethodSetPlanMode} {
				d.on(m, contract.Empty{})
			}
			d.does(contract.MethodSend, func(json.RawMessage) (any, *contract.Failure) {
				d.push("s1", append(append([]string{}, opening...), ending("t-1", "done")...)...)
				return contract.SendResult{MessageID: "m-1", TurnID: "t-1"}, nil
			})
			got := d.command(append(append([]string{"run", "--session", "s1"}, tc.args...), "hi")...)
			if got.code != tc.code || !strings.Contains(got.err, tc.err) {
				t.Fatalf("%+v", got)
			}
			for m, want := range tc.want {
				if calls := d.called(m); len(calls) != 1 || calls[0] != want {
					t.Errorf("%s was called with %v, want %s", m, calls, want)
				}
			}
			if n := len(d.called(contract.MethodStart)); n != 0 {
				t.Errorf("start was called %d times", n)
			}
		})
	}
}

// follow runs oneTurn with signals that the test sends.
func follow(t *testing.T, d *door, c *runCmd) (signals chan os.Signal, end func() (int, string)) {
	t.Helper()
	conn, err := dial(t.Context(), d.url, "owner-token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.close)
	signals = make(chan os.Signal, 2)
	var out, log bytes.Buffer
	turn := &oneTurn{cmd: c, conn: conn, signals: signals, log: &log, out: &printer{w: &out}, denied: make(chan error, 8), begun: make(chan begun, 1), unqueued: make(chan error, 1)}
	ended := make(chan error, 1)
	go func() { ended <- turn.run(context.Background()) }()
	return signals, func() (int, string) {
		err := <-ended
		var exit *ExitError
		if errors.As(err, &exit) {
			return exit.Code, exit.Message
		}
		if err != nil {
			t.Errorf("the turn ends with %v", err)
		}
		return 0, ""
	}
}

func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.starts(`t-1 chunk "a"`)
	d.then(contract.MethodCancel, ending("t-1", "cancelled")...)
	signals, end := follow(t, d, &runCmd{Prompt: "hi"})
	d.wait(contract.MethodStart)
	signals <- os.Interrupt
	if code, _ := end(); code != exitInterrupted {
		t.Fatalf("exit %d", code)
	}
	if n := len(d.called(contract.MethodCancel)); n != 1 {
		t.Fatalf("cancel was called %d times", n)
	}
}

// TestRun_InterruptedTwice: a second SIGINT does not wait for the turn.
func TestRun_InterruptedTwice(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.starts()
	d.on(contract.MethodCancel, contract.Empty{})
	signals, end := follow(t, d, &runCmd{Prompt: "hi"})
	d.wait(contract.MethodStart)
	signals <- os.Interrupt
	d.wait(contract.MethodCancel)
	signals <- os.Interrupt
	if code, _ := end(); code != exitInterrupted {
		t.Fatalf("exit %d", code)
	}
}

// queued answers a send with a place in the queue.
func queued(t *testing.T) *door {
	d := newDoor(t)
	d.on(contract.MethodGetConversation, contract.Snapshot{Conversation: contract.Conversation{Summary: contract.Summary{SessionID: "s1", Provider: "demo"}}})
	d.on(contract.MethodSend, contract.SendResult{MessageID: "m-2", Queued: true})
	return d
}

const (
	inQueue  = `t-1 queue-changed {"items":[{"message_id":"m-2","content":"hi"}]}`
	outQueue = `t-1 queue-changed {"items":[]}`
)

func TestRun_Queued(t *testing.T) {
	t.Parallel()
	d := queued(t)
	_, end := follow(t, d, &runCmd{Prompt: "hi", Session: "s1"})
	d.wait(contract.MethodSend)
	d.push("s1", append([]string{`t-1 user-turn {"message_id":"m-2","content":"hi","attachments":[],"queued":true}`, inQueue, `t-1 chunk "not ours"`}, ending("t-1", "done")...)...)
	d.push("s1", outQueue, `- updated {"queued":0}`, `- user-turn {"message_id":"m-2","content":"hi","attachments":[],"queued":false}`, `t-2 turn-started {"turn_id":"t-2"}`)
	d.push("s1", ending("t-2", "done")...)
	if code, why := end(); code != 0 {
		t.Fatalf("exit %d: %s", code, why)
	}
}

func TestRun_TakenOutOfTheQueue(t *testing.T) {
	t.Parallel()
	d := queued(t)
	_, end := follow(t, d, &runCmd{Prompt: "hi", Session: "s1"})
	d.wait(contract.MethodSend)
	d.push("s1", inQueue, outQueue, `- updated {"queued":0}`, `t-1 chunk "still the other turn"`)
	if code, why := end(); code != exitTurnError || !strings.Contains(why, "taken out of the queue") {
		t.Fatalf("exit %d: %s", code, why)
	}
}

// TestRun_InterruptedInTheQueue: the turn that runs is somebody else's and goes
// on.
func TestRun_InterruptedInTheQueue(t *testing.T) {
	t.Parallel()
	d := queued(t)
	d.on(contract.MethodQueueRemove, contract.Empty{})
	signals, end := follow(t, d, &runCmd{Prompt: "hi", Session: "s1"})
	d.wait(contract.MethodSend)
	d.push("s1", inQueue)
	d.on(contract.MethodCancel, contract.Empty{})
	signals <- os.Interrupt
	d.wait(contract.MethodQueueRemove)
	if code, _ := end(); code != exitInterrupted {
		t.Fatalf("exit %d", code)
	}
	if calls := d.called(contract.MethodQueueRemove); len(calls) != 1 || calls[0] != `{"session_id":"s1","message_id":"m-2"}` {
		t.Fatalf("remove was called with %v", calls)
	}
	if n := len(d.called(contract.MethodCancel)); n != 0 {
		t.Fatalf("the other turn was cancelled %d times", n)
	}
}

func TestWhyDemo(t *testing.T) {
	t.Parallel()
	custom := contract.ProviderRow{Provider: contract.ProviderCustom, Label: "Custom", Badge: contract.Badge{Status: contract.BadgeReady}}
	if got := whyDemo([]contract.ProviderRow{custom}); !strings.Contains(got, "Custom is ready") || !strings.Contains(got, "--provider custom") {
		t.Errorf("with a custom endpoint: %q", got)
	}
	custom.Badge.Status = contract.BadgeMissingKey
	if got := whyDemo([]contract.ProviderRow{custom}); !strings.Contains(got, "No provider is ready") {
		t.Errorf("with none: %q", got)
	}
}

func TestPickRow(t *testing.T) {
	t.Parallel()
	row := func(id contract.RowID, provider contract.ProviderID, s contract.BadgeStatus) contract.ProviderRow {
		return contract.ProviderRow{Row: id, Provider: provider, Badge: contract.Badge{Status: s}}
	}
	rows := []contract.ProviderRow{
		row("api-demo", "demo", contract.BadgeReady), row("api-ollama", "ollama", contract.BadgeReady),
		row("api-openai", "openai", contract.BadgeReady), row("api-claude", "anthropic", contract.BadgeMissingKey),
	}
	for _, tc := range []struct {
		rows []contract.ProviderRow
		id   string
		want contract.RowID
	}{
		{rows, "", "api-openai"},
		{rows[:2], "", "api-ollama"},
		{rows[:1], "", "api-demo"},
		{rows[3:], "", ""},
		{rows, "anthropic", "api-claude"},
		{rows, "api-claude", "api-claude"},
		{rows, "claude", ""},
		{nil, "", ""},
	} {
		if got, ok := pickRow(tc.rows, tc.id); got.Row != tc.want || ok != (tc.want != "") {
			t.Errorf("pickRow(%d rows, %q) = %q, %v; want %q", len(tc.rows), tc.id, got.Row, ok, tc.want)
		}
	}
}
