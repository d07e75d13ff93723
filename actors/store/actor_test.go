package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/journal"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// relay plays a conversation: it sends what the test gives it and hands back
// what it receives.
type relay struct {
	act.Actor
	got chan any
}

type forward struct{ messages []any }

func (r *relay) HandleMessage(_ gen.PID, message any) error {
	f, ok := message.(forward)
	if !ok {
		r.got <- message
		return nil
	}
	for _, m := range f.messages {
		if err := r.Send(msg.Store, m); err != nil {
			r.got <- err
		}
	}
	return nil
}

type rig struct {
	t    *testing.T
	node gen.Node
	call func(to gen.Atom, request any) (any, error)
	stop func()
	got  chan any
	pid  gen.PID
}

func start(t *testing.T, o Options) rig {
	t.Helper()
	n := nodetest.Start(t, 15*time.Second)
	if o.Now == nil {
		o.Now = func() time.Time { return at }
	}
	if _, err := n.SpawnRegister(msg.Store, New(o), gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	r := rig{t: t, node: n, got: make(chan any, 64)}
	r.call = func(to gen.Atom, request any) (any, error) { return nodetest.Call(n, to, request, 10) }
	r.stop = func() { nodetest.Stop(n) }
	var err error
	if r.pid, err = n.Spawn(func() gen.ProcessBehavior { return &relay{got: r.got} }, gen.ProcessOptions{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func ask[T any](r rig, request any) T {
	r.t.Helper()
	v, err := r.call(msg.Store, request)
	if err != nil {
		r.t.Fatalf("%T: %v", request, err)
	}
	out, ok := v.(T)
	if !ok {
		r.t.Fatalf("%T is answered by %T", request, v)
	}
	return out
}

func (r rig) send(messages ...any) {
	r.t.Helper()
	must(r.t, r.node.Send(r.pid, forward{messages}))
}

func next[T any](r rig) T {
	r.t.Helper()
	select {
	case v := <-r.got:
		out, ok := v.(T)
		if !ok {
			r.t.Fatalf("received %T: %v", v, v)
		}
		return out
	case <-time.After(10 * time.Second):
		r.t.Fatal("nothing was received")
		panic("not reached")
	}
}

func summaryOf(id string) contract.Summary {
	return contract.Summary{SessionID: contract.ConversationID(id), Title: "Title of " + id, Row: "api-demo", Status: contract.StatusActive, CreatedAt: at, UpdatedAt: at}
}

// TestStore_Conversation is the life of one conversation across two starts.
func TestStore_Conversation(t *testing.T) {
	p := config.Paths{Home: filepath.Join(t.TempDir(), "new")}
	r := start(t, Options{Paths: p})
	if got := ask[[]contract.Summary](r, msg.ListConversations{}); len(got) != 0 {
		t.Fatalf("a new directory lists %d", len(got))
	}
	if got := ask[msg.LoadedConversation](r, msg.LoadConversation{ID: "c-1"}); got.Found || got.Err != nil {
		t.Fatalf("%+v", got)
	}
	c := record("c-1", 1)
	c.OpenTurn = "t-1"
	body := encode(t, c)
	lines := line(t, journal.Append(0, " more", "", 0, nil))
	r.send(
		msg.SaveConversation{ID: "c-1", Rev: 1, Body: body, Summary: summaryOf("c-1")},
		msg.SaveConversation{ID: "c-1", Rev: 2, Journal: lines, Summary: summaryOf("c-1")},
		msg.SaveConversation{ID: "../x", Rev: 3, Body: body},
	)
	refused := next[msg.Saved](r)
	aSentence(t, refused.Err)
	for rev := uint64(1); rev <= 2; rev++ {
		got := next[msg.Saved](r)
		if got.Err != nil || got.Rev != rev || got.FileBytes != int64(len(body)) || (got.JournalBytes > 0) != (rev == 2) {
			t.Fatalf("%+v", got)
		}
	}
	loaded := ask[msg.LoadedConversation](r, msg.LoadConversation{ID: "c-1"})
	if !loaded.Found || loaded.Record.Messages[0].Content != "text 0 more" || loaded.FileBytes != int64(len(body)) || loaded.JournalBytes == 0 {
		t.Fatalf("%+v", loaded)
	}
	live := summaryOf("c-1")
	live.NeedsYou = 2
	r.send(msg.SummaryChanged{Summary: live}, msg.SaveConversation{ID: "c-2", Rev: 9, Body: encode(t, record("c-2", 1)), Summary: summaryOf("c-2")})
	next[msg.Saved](r)
	if got := ask[msg.FoundSummary](r, msg.GetSummary{ID: "c-1"}); !got.Found || got.Summary.NeedsYou != 2 {
		t.Fatalf("%+v", got)
	}
	if got := ask[[]contract.ConversationID](r, msg.Unfinished{}); !reflect.DeepEqual(got, []contract.ConversationID{"c-1"}) {
		t.Fatalf("unfinished %q", got)
	}
	must(t, ask[msg.Done](r, msg.Flush{}).Err)
	r.stop()

	r = start(t, Options{Paths: p})
	if got := ask[[]contract.Summary](r, msg.ListConversations{}); len(got) != 2 || got[0].NeedsYou != 0 {
		t.Fatalf("after a restart: %+v", got)
	}
	if got := ask[[]contract.ConversationID](r, msg.Unfinished{}); len(got) != 1 {
		t.Fatalf("after a restart: unfinished %q", got)
	}
	set, err := journal.Encode(journal.Op{Set: map[string]json.RawMessage{"openTurn": json.RawMessage("null")}})
	must(t, err)
	if got := ask[msg.Saved](r, msg.SaveConversationNow{SaveConversation: msg.SaveConversation{ID: "c-1", Rev: 4, Journal: set, Summary: summaryOf("c-1")}}); got.Err != nil || got.Rev != 4 {
		t.Fatalf("%+v", got)
	}
	if got := ask[[]contract.ConversationID](r, msg.Unfinished{}); len(got) != 0 {
		t.Fatalf("closed by a journal line, unfinished %q", got)
	}
	must(t, ask[msg.Done](r, msg.DeleteConversation{ID: "c-1"}).Err)
	if got := ask[msg.FoundSummary](r, msg.GetSummary{ID: "c-1"}); got.Found {
		t.Fatal("a deleted conversation is listed")
	}
	aSentence(t, ask[msg.Done](r, msg.DeleteConversation{ID: "a/b"}).Err)
	must(t, ask[msg.Done](r, msg.Drain{}).Err)
	if names := glob(t, p.Conversations()+"/*"); !reflect.DeepEqual(names, []string{"c-2.json", "index.json"}) {
		t.Fatalf("left %q", names)
	}
	if notes := ask[[]string](r, msg.TakeNotices{}); len(notes) != 0 {
		t.Fatalf("notices %q", notes)
	}
}

// TestStore_DeleteCancels: a deletion drops the saves that wait; each is
// answered all the same, and the file does not come back.
func TestStore_DeleteCancels(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	r := start(t, Options{Paths: p})
	body := encode(t, record("c-1", 20_000))
	const saves = 40
	var all []any
	for rev := range uint64(saves) {
		all = append(all, msg.SaveConversation{ID: "c-1", Rev: rev, Body: body, Summary: summaryOf("c-1")})
	}
	all = append(all, msg.LoadConversation{}) // Not a message of ours: ignored, not fatal.
	r.send(all...)
	// The first save was answered, so the others wait or run.
	next[msg.Saved](r)
	must(t, ask[msg.Done](r, msg.DeleteConversation{ID: "c-1"}).Err)
	dropped := 0
	for range saves - 1 {
		if got := next[msg.Saved](r); got.Err != nil {
			aSentence(t, got.Err)
			dropped++
		}
	}
	if dropped == 0 {
		t.Fatal("a deletion waited for all saves before it")
	}
	must(t, ask[msg.Done](r, msg.Flush{}).Err)
	if exists(filePath(p, "c-1")) || ask[msg.FoundSummary](r, msg.GetSummary{ID: "c-1"}).Found {
		t.Fatal("a deleted conversation came back")
	}
}

// TestStore_Early: what arrives while the directory is being opened is answered
// after it, in order; so the first answer says that the store is ready.
func TestStore_Early(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	must(t, os.MkdirAll(p.Conversations(), 0o700))
	fill(t, p, 300)
	write(t, filePath(p, "empty"), "")
	write(t, p.Ledger(), "x\n")
	r := start(t, Options{Paths: p})
	if got := ask[[]contract.Summary](r, msg.ListConversations{}); len(got) != 300 {
		t.Fatalf("%d conversations", len(got))
	}
	aSentence(t, ask[msg.Done](r, msg.LedgerHealth{}).Err)
	notes := strings.Join(ask[[]string](r, msg.TakeNotices{}), "\n")
	if !strings.Contains(notes, "empty.json.corrupt-") || !strings.Contains(notes, "line 1 of usage.jsonl") {
		t.Fatalf("notices %q", notes)
	}
	if got := ask[[]string](r, msg.TakeNotices{}); len(got) != 0 {
		t.Fatalf("told twice: %q", got)
	}
}

// TestStore_Unusable: a data directory that cannot be used is a sentence in
// every answer, not a dead actor.
func TestStore_Unusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	r := start(t, Options{Paths: config.Paths{Home: filepath.Join(file, "home")}})
	aSentence(t, ask[msg.LoadedConversation](r, msg.LoadConversation{ID: "c-1"}).Err)
	aSentence(t, ask[msg.Done](r, msg.DeleteConversation{ID: "c-1"}).Err)
	aSentence(t, ask[msg.Done](r, msg.Flush{}).Err)
	aSentence(t, ask[msg.Done](r, msg.SetTrust{ProjectPath: "/"}).Err)
	aSentence(t, ask[msg.Done](r, msg.LedgerHealth{}).Err)
	aSentence(t, ask[msg.Baselines](r, msg.LoadBaselines{ID: "c-1"}).Err)
	aSentence(t, ask[msg.Settings](r, msg.GetSettings{}).Failure)
	aSentence(t, ask[msg.Settings](r, msg.PatchSettings{Patch: json.RawMessage(`{}`)}).Failure)
	r.send(msg.SaveConversation{ID: "c-1", Rev: 5, Body: []byte("{}")}, msg.AppendLedger{Turn: "t-1", N: 2, Line: []byte(rowA)})
	if got := next[msg.Saved](r); got.Rev != 5 {
		t.Fatalf("%+v", got)
	}
	got := next[msg.LedgerWritten](r)
	aSentence(t, got.Err)
	if got.Turn != "t-1" || got.N != 2 {
		t.Fatalf("%+v", got)
	}
}

// TestStore_Others drives the ledger, settings, audit, trust and baselines
// through the mailbox.
func TestStore_Others(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	project := t.TempDir()
	bad := errors.New("bad")
	r := start(t, Options{
		Paths: p,
		CheckRow: func(l []byte) error {
			if strings.Contains(string(l), "refused") {
				return bad
			}
			return plainRow(l)
		},
		Providers: map[string]Normalise{"minimax_base_url": func(string) (string, error) { return "", errors.New("no.") }},
	})
	r.send(msg.AppendLedger{Turn: "t-1", N: 1, Line: []byte(rowA)}, msg.AppendLedger{Turn: "t-1", N: 2, Line: []byte(`{"source":"refused","cost_usd":1}`)})
	if got := next[msg.LedgerWritten](r); got.Err != nil || got.N != 1 {
		t.Fatalf("%+v", got)
	}
	if got := next[msg.LedgerWritten](r); got.Err == nil || got.N != 2 {
		t.Fatalf("%+v", got)
	}
	must(t, ask[msg.Done](r, msg.LedgerHealth{}).Err)
	pendingOf(t, p, "a.json", len(rowA)+1, rowB)
	must(t, ask[msg.Done](r, msg.ReconcileLedger{}).Err)
	if got := read(t, p.Ledger()); got != rowA+"\n"+rowB+"\n" {
		t.Fatalf("ledger %q", got)
	}

	if got := ask[msg.Settings](r, msg.PatchSettings{Patch: json.RawMessage(`{"minimax_base_url":"x"}`)}); got.Failure == nil || got.Failure.Message != "minimax_base_url: no." {
		t.Fatalf("%+v", got.Failure)
	}
	if got := ask[msg.Settings](r, msg.PatchSettings{Patch: json.RawMessage(`{"audit_retention_days":30}`)}); got.Failure != nil {
		t.Fatal(got.Failure)
	}
	old := at.AddDate(0, 0, -20).UnixMilli()
	before := "old"
	r.send(
		msg.AppendAudit{Entry: contract.AuditEntry{ID: "a", Timestamp: old, Target: "x?token=1"}},
		msg.SaveBaseline{ID: "c-1", ToolID: "t", Path: "f.go", Before: &before},
		msg.SaveBaseline{ID: "../c", ToolID: "t", Path: "f.go", Before: &before},
		msg.BumpLaunch{Provider: "demo"},
		msg.SummaryChanged{Summary: summaryOf("a/b")},
		msg.SaveConversation{ID: "c-1", Rev: 1, Body: encode(t, record("c-1", 1)), Summary: summaryOf("c-1")},
	)
	next[msg.Saved](r)
	must(t, ask[msg.Done](r, msg.Flush{}).Err)
	if got := ask[[]contract.AuditEntry](r, msg.ListAudit{}); len(got) != 1 || got[0].Target != "x?token=[redacted]" {
		t.Fatalf("audit %+v", got)
	}
	if !strings.Contains(read(t, p.Audit()), `"id":"a"`) {
		t.Fatal("a flush did not write the audit")
	}
	if got := ask[msg.Baselines](r, msg.LoadBaselines{ID: "c-1"}); got.Err != nil || len(got.Items) != 1 || *got.Items[0].Before != "old" {
		t.Fatalf("%+v", got)
	}
	if got := ask[msg.Settings](r, msg.GetSettings{}); !strings.Contains(string(got.App), `"launches":{"demo":1}`) {
		t.Fatalf("%s", got.App)
	}
	if got := ask[msg.TrustAnswer](r, msg.TrustQuestion{ProjectPath: project}); got.Asked || got.Trusted {
		t.Fatalf("%+v", got)
	}
	must(t, ask[msg.Done](r, msg.SetTrust{ProjectPath: project, Trusted: true}).Err)
	if got := ask[msg.TrustAnswer](r, msg.TrustQuestion{ProjectPath: project}); !got.Trusted {
		t.Fatalf("%+v", got)
	}
	if got := ask[[]contract.Summary](r, msg.ListConversations{}); len(got) != 1 {
		t.Fatalf("an id that is none is listed: %+v", got)
	}
	aSentence(t, ask[msg.Done](r, struct{ unknown bool }{}).Err)
}

// TestStore_Panic: a fault in a lane ends the actor, and the one started after
// it waits for the work of the one before and loses nothing that was answered.
func TestStore_Panic(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	armed := make(chan struct{}, 1)
	o := Options{Paths: p, Now: func() time.Time { return at }, CheckRow: func([]byte) error {
		select {
		case <-armed:
			panic("a fault of the test")
		default:
			return nil
		}
	}}
	r := start(t, Options{Paths: config.Paths{Home: t.TempDir()}}) // For the relay and node.
	factory := New(o)
	const name = gen.Atom("store_under_test")
	first, err := r.node.SpawnRegister(name, factory, gen.ProcessOptions{})
	must(t, err)
	call := func(request any) (any, error) { return r.call(name, request) }
	if v, err := call(msg.SaveConversationNow{SaveConversation: msg.SaveConversation{ID: "c-1", Body: encode(t, record("c-1", 1)), Summary: summaryOf("c-1")}}); err != nil || v.(msg.Saved).Err != nil {
		t.Fatalf("%v %v", v, err)
	}
	armed <- struct{}{}
	must(t, r.node.Send(name, msg.AppendLedger{Line: []byte(rowA)}))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if pid, err := r.node.ProcessPID(name); err != nil || pid != first {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the actor outlived the fault")
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err = r.node.SpawnRegister(name, factory, gen.ProcessOptions{}); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	v, err := call(msg.ListConversations{})
	if list, ok := v.([]contract.Summary); err != nil || !ok || len(list) != 1 {
		t.Fatalf("after the restart: %v, %v", v, err)
	}
}

// TestStore_ManyConversations saves many at once and finds all of them.
func TestStore_ManyConversations(t *testing.T) {
	p := config.Paths{Home: t.TempDir()}
	r := start(t, Options{Paths: p})
	const n = 60 // Below the relay's channel.
	var all []any
	for i := range n {
		id := fmt.Sprintf("c-%d", i)
		all = append(all, msg.SaveConversation{ID: contract.ConversationID(id), Rev: uint64(i), Body: encode(t, record(id, 5)), Summary: summaryOf(id)})
	}
	r.send(all...)
	for range n {
		if got := next[msg.Saved](r); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	if got := ask[[]contract.Summary](r, msg.ListConversations{}); len(got) != n {
		t.Fatalf("%d conversations", len(got))
	}
}
