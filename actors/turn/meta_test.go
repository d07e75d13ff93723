package turn

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/llm"
	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/supervisors/nodetest"
)

// owner plays a conversation: it starts one turn and notes what it hears.
type owner struct {
	act.Actor
	spawn func(*owner) error

	mu    sync.Mutex
	alias gen.Alias
	heard []any
	// thrifty owners give no credit back until told.
	thrifty bool
	owed    int
	onUsage func(u msg.RequestUsage) any
	down    error
	bell    chan struct{}
}

type generous struct{}

func (o *owner) Init(...any) error { return o.Send(o.PID(), "go") }

func (o *owner) HandleMessage(_ gen.PID, message any) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.bell <- struct{}{}:
		default:
		}
	}()
	switch m := message.(type) {
	case string:
		return o.spawn(o)
	case generous:
		o.thrifty = false
		for ; o.owed > 0; o.owed-- {
			_ = o.SendAlias(o.alias, msg.EmittedAck{})
		}
	case gen.MessageDownAlias:
		o.down = m.Reason
	case msg.Emitted:
		for _, e := range m.Events {
			o.heard = append(o.heard, e)
		}
		if o.thrifty {
			o.owed++
			return nil
		}
		return o.SendAlias(o.alias, msg.EmittedAck{})
	case msg.RequestUsage:
		o.heard = append(o.heard, m)
		if m.Line != nil && o.onUsage != nil {
			if answer := o.onUsage(m); answer != nil {
				return o.SendAlias(o.alias, answer)
			}
		}
	case msg.TurnClosed:
		o.heard = append(o.heard, m)
		return o.SendExitMeta(o.alias, gen.TerminateReasonNormal)
	case forward:
		return o.SendAlias(o.alias, m.message)
	default:
		o.heard = append(o.heard, m)
	}
	return nil
}

type forward struct{ message any }

// until waits for a condition over what was heard.
func (o *owner) until(t *testing.T, what string, ok func(heard []any) bool) []any {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		o.mu.Lock()
		heard, down := slices.Clone(o.heard), o.down
		o.mu.Unlock()
		if ok(heard) {
			return heard
		}
		select {
		case <-o.bell:
		case <-deadline:
			t.Fatalf("never happened: %s; heard %d items, down %v", what, len(heard), down)
		}
	}
}

func closedIn(heard []any) bool {
	return len(heard) > 0 && func() bool { _, ok := heard[len(heard)-1].(msg.TurnClosed); return ok }()
}

func startOwner(t *testing.T, o *owner, opt Options, spec msg.TurnSpec) (gen.Node, gen.PID) {
	t.Helper()
	node := nodetest.Start(t, 30*time.Second)
	o.bell = make(chan struct{}, 1)
	o.spawn = func(o *owner) error {
		alias, err := o.SpawnMeta(Factory(opt)(spec), gen.MetaOptions{})
		o.alias = alias
		return errors.Join(err, o.MonitorAlias(alias))
	}
	pid, err := node.Spawn(func() gen.ProcessBehavior { return o }, gen.ProcessOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node, pid
}

func anthropicSpec(t *testing.T, url string) msg.TurnSpec {
	settings, err := json.Marshal(map[string]any{"named_provider_base_urls": map[string]string{"anthropic": url}})
	if err != nil {
		t.Fatal(err)
	}
	return msg.TurnSpec{
		Conversation: "c-1", Turn: "t-1", Provider: contract.ProviderAnthropic, Ledger: "api-claude", Model: "claude-opus-4-5",
		Key: "sk-secret", Project: t.TempDir(), Settings: settings, Posture: allowAll,
		Messages: []contract.RecordMessage{{Role: contract.RoleUser, Content: "hello"}},
	}
}

// A Stop while every credit is out loses nothing: the last event and the close
// arrive when the owner has caught up.
func TestMeta_CancelWhileTheOwnerIsBehind(t *testing.T) {
	server := llmtest.NewAnthropic(t, llmtest.Turn{Text: strings.SplitAfter(strings.Repeat("word ", 200), " "), Stall: true})
	o := &owner{thrifty: true}
	node, pid := startOwner(t, o, Options{Client: http.DefaultClient}, anthropicSpec(t, server.URL))
	o.until(t, "the credits run out", func(heard []any) bool { return len(heard) >= msg.EmitCredits })
	if err := node.Send(pid, forward{msg.CancelTurn{}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Left():
	case <-time.After(20 * time.Second):
		t.Fatal("the stream was not ended")
	}
	if err := node.Send(pid, generous{}); err != nil {
		t.Fatal(err)
	}
	heard := o.until(t, "the turn closes", closedIn)
	if done, ok := heard[len(heard)-2].(contract.Done); !ok || !done.Cancelled {
		t.Errorf("before the close came %+v", heard[len(heard)-2])
	}
	var text strings.Builder
	for _, item := range heard {
		if c, ok := item.(contract.Chunk); ok {
			text.WriteString(string(c))
		}
	}
	if s := text.String(); !strings.HasPrefix(strings.Repeat("word ", 200), s) || s == "" {
		t.Errorf("text %q is not a beginning of the answer", s)
	}
	http.DefaultClient.CloseIdleConnections()
}

// The ledger line carries no key; its failure ends the turn with a sentence,
// and a Stop meanwhile does not hide it.
func TestMeta_LedgerFailure(t *testing.T) {
	server := llmtest.NewAnthropic(t, llmtest.Turn{Calls: []llmtest.Call{{ID: "x", Name: "list_directory", Arguments: `{"path":"."}`}}})
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	o := &owner{onUsage: func(u msg.RequestUsage) any {
		if strings.Contains(string(u.Line), "sk-secret") || !strings.Contains(string(u.Line), `"source":"api-claude"`) {
			t.Errorf("line %s", u.Line)
		}
		return msg.LedgerWritten{Turn: u.Turn, N: u.N, Err: errors.New("the disk is full")}
	}}
	startOwner(t, o, Options{Client: client}, anthropicSpec(t, server.URL))
	heard := o.until(t, "the turn closes", closedIn)
	if e, ok := heard[len(heard)-2].(contract.Error); !ok || !strings.Contains(e.Message, "the disk is full") {
		t.Errorf("ended with %+v", heard[len(heard)-2])
	}
	for _, item := range heard {
		if _, ok := item.(contract.ToolResult); ok {
			t.Error("a tool ran although its request was not recorded")
		}
	}
}

// A fault in the turn is one error, and the process is still there to say so.
func TestMeta_Fault(t *testing.T) {
	o := &owner{}
	spec := anthropicSpec(t, "http://127.0.0.1:1")
	spec.Provider, spec.Ledger = contract.ProviderDemo, ""
	// A client of a demo turn is never used; the clock is, for the ledger only.
	spec.Settings = json.RawMessage(`{`)
	startOwner(t, o, Options{}, spec)
	heard := o.until(t, "the turn closes", closedIn)
	if e, ok := heard[0].(contract.Error); !ok || e.Message == "" {
		t.Errorf("heard %+v", heard)
	}
}

// The death of the owner ends the stream and frees whoever waits.
func TestMeta_OwnerDies(t *testing.T) {
	server := llmtest.NewAnthropic(t, llmtest.Turn{Text: strings.SplitAfter(strings.Repeat("word ", 60), " "), Stall: true})
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	o := &owner{thrifty: true}
	node, pid := startOwner(t, o, Options{Client: client}, anthropicSpec(t, server.URL))
	o.until(t, "the stream runs", func(heard []any) bool { return len(heard) >= 3 })
	if err := node.Kill(pid); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Left():
	case <-time.After(20 * time.Second):
		t.Fatal("the stream outlived its conversation")
	}
}
