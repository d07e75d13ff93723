//go:build integration && linux

package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/contract"
)

// natsClient joins the bus as a NATS client does. refused hears what the server
// would not let it do.
func natsClient(t *testing.T, p *proc, login bus.Login) (nc *nats.Conn, refused <-chan error) {
	t.Helper()
	violations := make(chan error, 64)
	nc, err := nats.Connect(p.run.NATSURL, nats.UserInfo(login.User, login.Password),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, violations
}

// Both NATS users on the real bus: what they may call, replay and hear, and
// that nobody can forge an event.
func TestNATS_OwnerAndMonitor(t *testing.T) {
	p := serve(t, t.TempDir(), nil)
	dir := project(t)
	owner, ownerRefused := natsClient(t, p, p.run.NATSOwner)
	monitor, monitorRefused := natsClient(t, p, p.run.NATSMonitor)
	heard := make(chan *nats.Msg, 1024)
	for _, pattern := range []string{"api-agent.*.n1", "conversation.*.n1"} {
		if _, err := monitor.ChanSubscribe(pattern, heard); err != nil {
			t.Fatal(err)
		}
	}
	if err := monitor.Flush(); err != nil {
		t.Fatal(err)
	}
	request := func(nc *nats.Conn, m contract.Method, params any) (result json.RawMessage, failure *contract.Failure) {
		t.Helper()
		body, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := nc.Request(contract.CommandSubject(m), body, patience)
		if err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		var answer struct {
			Result json.RawMessage   `json:"result"`
			Error  *contract.Failure `json:"error"`
		}
		if err := json.Unmarshal(reply.Data, &answer); err != nil {
			t.Fatalf("%s: %s: %v", m, reply.Data, err)
		}
		return answer.Result, answer.Error
	}
	if _, failure := request(owner, contract.MethodStart, contract.StartParams{
		SessionID: "n1", Provider: "demo", Model: "demo", ProjectPath: dir, InitialMessage: "hello", PermissionMode: contract.ModeAuto,
	}); failure != nil {
		t.Fatal(failure)
	}
	var subjects []string
	for {
		select {
		case m := <-heard:
			subjects = append(subjects, m.Subject)
			if strings.HasPrefix(m.Subject, "api-agent.") && m.Header.Get(contract.HeaderTurn) != "t-1" {
				t.Errorf("%s has turn %q", m.Subject, m.Header.Get(contract.HeaderTurn))
			}
		case <-time.After(patience):
			t.Fatalf("no end of the turn after %v", subjects)
		}
		if slices.Contains(subjects, "conversation.turn-ended.n1") {
			break
		}
	}
	for _, m := range []contract.Method{contract.MethodListConversations, contract.MethodListProviders, contract.MethodSidecarStatus, contract.MethodTree, contract.MethodListTerminals} {
		if _, failure := request(monitor, m, struct{}{}); failure != nil {
			t.Errorf("monitor %s: %v", m, failure)
		}
	}
	if _, failure := request(monitor, contract.MethodGetConversation, contract.SessionParams{SessionID: "n1"}); failure != nil {
		t.Errorf("monitor get_conversation: %v", failure)
	}
	if _, failure := request(owner, "no_such_method", struct{}{}); failure == nil || failure.Code != contract.CodeNoMethod {
		t.Errorf("unknown method: %v", failure)
	}
	if _, failure := request(owner, contract.MethodSend, contract.SendParams{SessionID: "a.b", Message: "x"}); failure == nil || failure.Code != contract.CodeBadParams {
		t.Errorf("malformed id: %v", failure)
	}
	// What nobody may: a monitor's command, a forged event by either.
	for _, tc := range []struct {
		name    string
		nc      *nats.Conn
		refused <-chan error
		subject string
	}{
		{"monitor sends", monitor, monitorRefused, contract.CommandSubject(contract.MethodSend)},
		{"monitor forges", monitor, monitorRefused, "api-agent.chunk.n1"},
		{"owner forges", owner, ownerRefused, "api-agent.chunk.n1"},
	} {
		if err := tc.nc.Publish(tc.subject, []byte(`"forged"`)); err != nil {
			t.Fatal(err)
		}
		if err := tc.nc.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-tc.refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", tc.name, err)
			}
		case <-time.After(patience):
			t.Errorf("%s: nothing was refused", tc.name)
		}
	}
	// Both roles replay from a sequence; the whole turn is there once, in order.
	for name, nc := range map[string]*nats.Conn{"owner": owner, "monitor": monitor} {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		cons, err := js.OrderedConsumer(t.Context(), "events", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"api-agent.*.n1", "conversation.*.n1"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		messages, err := cons.Messages()
		if err != nil {
			t.Fatal(err)
		}
		var last uint64
		var replayed []string
		for !slices.Contains(replayed, "conversation.turn-ended.n1") {
			m, err := messages.Next()
			if err != nil {
				t.Fatal(err)
			}
			meta, err := m.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			if meta.Sequence.Stream <= last {
				t.Fatalf("%s: sequence %d after %d", name, meta.Sequence.Stream, last)
			}
			last = meta.Sequence.Stream
			replayed = append(replayed, m.Subject())
		}
		messages.Stop()
		if n := slices.Index(subjects, "conversation.turn-ended.n1") + 1; !slices.Equal(replayed[:min(len(replayed), n)], subjects[:n]) {
			t.Errorf("%s replayed %v; heard %v", name, replayed, subjects)
		}
	}
}
