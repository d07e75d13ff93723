package conversation

import (
	"testing"

	"github.com/packetbench/packetbench/contract"
)

// stored is a conversation as a file of another version may hold it: idle, with
// one answered turn.
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
