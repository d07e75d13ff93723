package conversation

import (
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// stored is a conversation as a file of another version may hold it: idle, with
// one answered turn, on a row that this version cannot serve.
func stored(row contract.RowID, provider contract.ProviderID) *contract.Record {
	return &contract.Record{
		ID: "c-1", Title: "old", Agent: row, Mode: "api", Provider: provider, Model: "m", ProjectPath: "/p",
		Status: contract.StatusIdle, PermissionMode: contract.ModeAuto, PlanMode: true, Owner: contract.TransportSidecar,
		Messages: []contract.RecordMessage{
			{ID: "m-1", Role: contract.RoleUser, Content: "hello"},
			{ID: "t-1", Role: contract.RoleAssistant, TurnID: "t-1", Content: "## Plan\nDo it.", Outcome: contract.OutcomeDone},
		},
	}
}

// A stored conversation of another transport is readable and refuses every
// command that would begin a turn, without an event and unchanged.
func TestStored_OtherTransports(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		id       contract.RowID
		provider contract.ProviderID
		label    string
	}{
		{"api-packetcode", contract.ProviderPacketcode, "PacketCode (ACP)"},
		{"acp-mine", "acp-mine", "mine"},
	} {
		for _, tc := range []struct {
			method contract.Method
			params any
		}{
			{contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "go on"}},
			{contract.MethodRetry, contract.RetryParams{SessionID: "c-1"}},
			{contract.MethodStart, contract.StartParams{SessionID: "c-1", InitialMessage: "go on"}},
			{contract.MethodApprovePlan, contract.ApprovePlanParams{SessionID: "c-1", Choice: "execute"}},
		} {
			t.Run(string(row.id)+" "+string(tc.method), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.c.adopt(t0, stored(row.id, row.provider))
				b.forget()
				_, failure := b.command(tc.method, tc.params)
				want := "The row " + row.label + " is not part of this version of PacketBench. Choose another provider."
				if failure == nil || failure.Code != contract.CodeConflict || failure.Message != want {
					t.Fatalf("got %+v; want -32009 %q", failure, want)
				}
				if len(b.effects) != 0 || len(b.c.rec.Messages) != 2 || b.c.rec.PlanApproved || b.c.busy() {
					t.Errorf("it did %v all the same", b.effects)
				}
				if v := b.c.view(); len(v.Messages) != 2 {
					t.Errorf("the transcript shows %d messages", len(v.Messages))
				}
			})
		}
	}
}

// The id whose file would be the list of conversations is no
// conversation, however its letters are written, and the list is not read as
// one.
func TestActor_ReservedID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for _, id := range []contract.ConversationID{"index", "Index", "INDEX"} {
		w.wake(id)
		for _, m := range []contract.Method{contract.MethodStart, contract.MethodOneShot, contract.MethodSend, contract.MethodGetConversation, contract.MethodDelete} {
			r := w.callID(id, m, contract.StartParams{SessionID: id, Provider: "demo", Model: "demo", ProjectPath: t.TempDir(), InitialMessage: "x"})
			if r.Failure == nil || r.Failure.Code != contract.CodeBadParams || r.Failure.Message != `session_id: "`+string(id)+`" is reserved` {
				t.Errorf("%s of %s: %+v", m, id, r)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.files) != 0 || len(w.events) != 0 {
		t.Errorf("files %d, events %v", len(w.files), w.events)
	}
}
