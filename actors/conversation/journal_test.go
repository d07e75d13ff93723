package conversation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
)

// disk is what the store would hold: the last body and the lines after it.
type disk struct {
	body  []byte
	lines []byte
}

// load is what the store would answer.
func (d *disk) load(t testing.TB) *contract.Record {
	t.Helper()
	r := new(contract.Record)
	if err := json.Unmarshal(d.body, r); err != nil {
		t.Fatal(err)
	}
	if got := journal.Replay(r, d.lines); got.Bad != nil || got.Torn {
		t.Fatalf("replay: %+v\n%s", got, d.lines)
	}
	return r
}

// take saves through the actor's own encoder, without its process.
func (d *disk) take(t testing.TB, a *actor, large, fails bool) {
	t.Helper()
	if !a.core.changes.any() {
		return
	}
	request, next, err := a.encode(false)
	if err != nil {
		t.Fatal(err)
	}
	a.core.changes = newChanges()
	if fails { // As savedOne has it.
		a.saved.known, a.core.changes.head = false, true
		return
	}
	a.saved = next
	if request.Body != nil {
		d.body, d.lines = request.Body, nil
	} else {
		d.lines = append(d.lines, request.Journal...)
	}
	a.saved.journal = int64(len(d.lines))
	if a.saved.fileSize = int64(len(d.body)); large {
		a.saved.fileSize = 1 << 30 // Too large to be rewritten.
	}
}

func sameRecord(t testing.TB, what string, want, got *contract.Record) {
	t.Helper()
	a, err := contract.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	// Bytes that are no text become U+FFFD with the first save; a detour of the
	// one in memory gives both the same.
	var detour contract.Record
	if err := json.Unmarshal(a, &detour); err != nil {
		t.Fatal(err)
	}
	if a, err = contract.Marshal(&detour); err != nil {
		t.Fatal(err)
	}
	b, err := contract.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Fatalf("%s: in memory\n%s\non disk\n%s", what, a, b)
	}
}

// edits does random things to a conversation, all that a person, a turn and a
// restart can do.
type edits struct {
	r *rand.Rand
	b *bench
	n int
}

func (e *edits) text() string {
	words := []string{"a", "\u00e9", "\U0001F600", "\n", "<b>&", "\u2028", "\"", "word ", "\xff", "\xe2\x80"}
	var s strings.Builder
	for range 1 + e.r.IntN(5) {
		s.WriteString(words[e.r.IntN(len(words))])
	}
	return s.String()
}

func (e *edits) step() {
	c := e.b.c
	now := t0.Add(time.Duration(e.n) * time.Second)
	e.n++
	do := func(m contract.Method, p any) { e.b.command(m, p) }
	turn := contract.TurnID("none")
	if c.live != nil {
		turn = c.live.id
	}
	id := fmt.Sprintf("x%d", e.r.IntN(6))
	switch e.r.IntN(28) {
	case 0:
		do(contract.MethodSend, contract.SendParams{Message: "m " + e.text()})
	case 1:
		do(contract.MethodRetry, contract.RetryParams{NewModel: []string{"", "other", "demo"}[e.r.IntN(3)]})
	case 2:
		do(contract.MethodRename, contract.RenameParams{Title: "t " + e.text()})
	case 3:
		do(contract.MethodPin, contract.PinParams{Pinned: e.r.IntN(2) == 0})
	case 4:
		do(contract.MethodSetPlanMode, contract.SetEnabledParams{Enabled: e.r.IntN(2) == 0})
	case 5:
		do(contract.MethodCancel, contract.SessionParams{})
	case 6:
		do(contract.MethodRespondPermission, contract.RespondPermissionParams{ToolID: id, Decision: contract.AllowAlways})
	case 7:
		do(contract.MethodRespondPermission, contract.RespondPermissionParams{ToolID: id, Decision: contract.Deny, Reason: e.text()})
	case 8:
		do(contract.MethodApprovePlan, contract.ApprovePlanParams{Choice: "execute"})
	case 9:
		c.emitted(now, turn, []contract.Event{contract.Done{InputTokens: 5}})
	case 10:
		c.emitted(now, turn, []contract.Event{contract.Error{Message: "429 rate limit " + e.text()}})
	case 11:
		c.closed(now, turn, nil)
	case 12:
		c.requestOpened(turn)
	case 13:
		c.reasoned(turn, json.RawMessage(`{"d":"`+fmt.Sprint(e.n)+`"}`))
	case 14:
		c.emitted(now, turn, []contract.Event{contract.ToolStart{ID: id, Name: "bash"}})
	case 15:
		c.emitted(now, turn, []contract.Event{contract.ToolResult{ID: id, Name: "bash", Content: e.text(), Input: "{}"}})
	case 16:
		code := int64(1)
		c.toolFacts(msg.ToolFacts{Turn: turn, ID: id, ExitCode: &code, Tainting: e.r.IntN(2) == 0, Source: contract.Source{Origin: "web", Label: "w"}})
	case 17:
		if c.live != nil && !c.live.ended {
			c.ask(now, msg.Ask{Turn: turn, ID: id, Name: "bash", Arguments: `{"command":"ls"}`})
		}
	case 18:
		c.askEdit(now, msg.AskEdit{Turn: turn, ID: id, Path: "a", Content: e.text()})
	case 19:
		c.usage(now, msg.RequestUsage{Turn: turn, Context: contract.ContextUse{Used: uint64(e.n)}}) //nolint:gosec // Small.
	case 20:
		c.notice(now, contract.LevelInfo, e.text())
	case 21:
		c.started(turn)
		if c.live != nil {
			c.live.autoRetry = true
		}
	case 22:
		c.drainPrompts(now, contract.ByTimeout, contract.TextPermTimeout)
	case 23:
		c.failTurn(now, turn, "It failed.")
	default: // Mostly deltas.
		if e.r.IntN(2) == 0 {
			c.emitted(now, turn, []contract.Event{contract.Chunk(e.text())})
		} else {
			c.emitted(now, turn, []contract.Event{contract.Thinking{Text: e.text()}})
		}
	}
	e.b.forget()
}

// The core claim of the journal: after every save, the body and the lines on
// disk are the record in memory, whatever was done in between, failed saves
// and restarts included (F27, F30, F32).
func TestJournal_IsTheRecord(t *testing.T) {
	t.Parallel()
	saves := 0
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // A test's dice.
		b := newBench(t)
		b.c.models = func(contract.RowID) []contract.Model { return []contract.Model{{Value: "claude-haiku-4-5"}} }
		b.must(contract.MethodStart, contract.StartParams{SessionID: "c-1", Provider: "anthropic", Model: "claude-sonnet-4-5", ProjectPath: "/p", InitialMessage: "hello"})
		b.forget()
		a := &actor{core: b.c, saved: saved{neverWritten: true}}
		e := &edits{r: r, b: b}
		var d disk
		d.take(t, a, true, false)
		for i := range 120 {
			e.step()
			if r.IntN(3) == 0 {
				d.take(t, a, r.IntN(40) > 0, r.IntN(30) == 0)
				if a.core.changes.any() {
					continue // It failed; the disk is behind.
				}
				sameRecord(t, fmt.Sprintf("seed %d step %d", seed, i), a.core.rec, d.load(t))
				saves++
			}
			if r.IntN(40) == 0 && !a.core.changes.any() { // The actor dies and comes back.
				rec := d.load(t)
				head, err := journal.EncodeHead(rec)
				if err != nil {
					t.Fatal(err)
				}
				again := newCore("c-1", []string{"boot-1", "boot-2"}[r.IntN(2)])
				again.models = b.c.models
				a = &actor{core: again, saved: saved{head: head, index: -1, messages: len(rec.Messages), fileSize: 1 << 30, journal: int64(len(d.lines)), known: true}}
				b.c = again
				again.adopt(t0, rec)
				b.forget()
			}
		}
	}
	if saves < 1500 {
		t.Errorf("only %d saves were compared", saves)
	}
}

// transcript makes a conversation with n messages and a running turn.
func transcript(t testing.TB, n int) *actor {
	t.Helper()
	c := newCore("c-1", "boot-1")
	_, failure := c.command(t0, contract.MethodStart, json.RawMessage(`{"session_id":"c-1","provider":"demo","model":"demo","project_path":"/p"}`), outside{checkProject: fine, system: func(string, contract.Transport) string { return strings.Repeat("prompt ", 1000) }})
	if failure != nil {
		t.Fatal(failure)
	}
	for i := range n {
		role := contract.RoleUser
		if i%2 == 1 {
			role = contract.RoleAssistant
		}
		c.append(contract.RecordMessage{ID: fmt.Sprint("m-", i), Role: role, Content: strings.Repeat("text ", 200)})
	}
	if _, failure := c.send(t0, "go", nil); failure != nil {
		t.Fatal(failure)
	}
	c.started(c.live.id)
	c.requestOpened(c.live.id)
	c.take()
	a := &actor{core: c, saved: saved{neverWritten: true}}
	var d disk
	d.take(t, a, true, false)
	return a
}

// A save of one delta costs the same however long the transcript is.
func BenchmarkSaveDelta(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := transcript(b, n)
			b.ReportAllocs()
			bytes := 0
			for b.Loop() {
				a.core.emitted(t0, "t-1", []contract.Event{contract.Chunk("delta ")})
				a.core.take()
				request, next, err := a.encode(false)
				if err != nil || request.Body != nil {
					b.Fatal(err, len(request.Body))
				}
				bytes += len(request.Journal)
				next.fileSize = 1 << 40
				a.saved, a.core.changes = next, newChanges()
			}
			b.ReportMetric(float64(bytes)/float64(b.N), "B-written/op")
		})
	}
}

// The way of one delta through the conversation, without bus and process.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			a := transcript(b, n)
			batch := []contract.Event{contract.Chunk("delta ")}
			b.ReportAllocs()
			for b.Loop() {
				a.core.emitted(t0, "t-1", batch)
				a.core.take()
			}
		})
	}
}

// The same as a test, with room for a busy machine: the bytes of a save do not
// depend on the transcript at all.
func TestSaveDelta_BytesDoNotGrow(t *testing.T) {
	t.Parallel()
	size := func(n int) int {
		a := transcript(t, n)
		a.core.emitted(t0, "t-1", []contract.Event{contract.Chunk("delta ")})
		request, _, err := a.encode(false)
		if err != nil || request.Body != nil {
			t.Fatal(err)
		}
		return len(request.Journal)
	}
	small, large := size(10), size(5000)
	if large > small+8 { // The index has more digits.
		t.Errorf("a delta costs %d bytes behind 10 messages and %d behind 5,000", small, large)
	}
}
