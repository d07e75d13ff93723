package bridge

import (
	"fmt"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// acp.md 6.2: totals by a conversation's id or the engine's own; null where none
// are known, and no engine is started for them.
func TestACPUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.node.on(msg.Store, func(request any) (any, error) {
		found := map[contract.ConversationID]contract.ProviderID{
			"c-engine": contract.ProviderPacketcode, "c-down": "acp-down", "c-fails": "acp-fails", "c-quiet": "acp-quiet", "c-other": contract.ProviderAnthropic,
		}
		p, ok := found[request.(msg.GetSummary).ID]
		return msg.FoundSummary{Found: ok, Summary: contract.Summary{Provider: p}}, nil
	})
	r.node.on(msg.EnginesSup, func(any) (any, error) {
		return msg.ChildList{Children: []msg.Status{
			{Name: msg.Sidecar, State: msg.StateRunning},
			{Name: "acp:down", State: msg.StateDown},
			{Name: "acp:quiet", State: msg.StateRunning},
			{Name: "acp:packetcode", State: msg.StateRunning},
		}}, nil
	})
	r.node.on("acp:packetcode", func(request any) (any, error) {
		q := request.(msg.EngineUsage)
		if q.Conversation == "c-engine" || q.Session == "engine-1" {
			return msg.EngineUsageAnswer{Totals: []byte(`{"totalInput":7}`)}, nil
		}
		return msg.EngineUsageAnswer{}, nil
	})
	r.node.on("acp:quiet", func(any) (any, error) { return msg.EngineUsageAnswer{}, nil })
	r.node.on("acp:fails", func(any) (any, error) {
		return msg.EngineUsageAnswer{Failure: contract.Fail(contract.CodeInternal, "engine closed the connection")}, nil
	})
	for _, tc := range []struct {
		id, want string
		code     int
	}{
		{id: "c-engine", want: `{"totalInput":7}`},
		{id: "engine-1", want: `{"totalInput":7}`},
		{id: "c-quiet", want: `null`},
		{id: "c-down", want: `null`},
		{id: "c-other", want: `null`},
		{id: "c-fails", code: contract.CodeInternal},
		{id: "engine-2", code: contract.CodeNotFound},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"acp_session_usage","params":{"session_id":%q}}`, tc.id))
		switch {
		case tc.code != 0 && (f.Error == nil || f.Error.Code != tc.code):
			t.Errorf("%s: %s %+v, want code %d", tc.id, f.Result, f.Error, tc.code)
		case tc.code == 0 && (f.Error != nil || string(f.Result) != tc.want):
			t.Errorf("%s: %s %+v, want %s", tc.id, f.Result, f.Error, tc.want)
		}
	}
	for _, a := range r.node.seen(&r.node.asked) {
		if _, starts := a.request.(msg.Ensure); starts || a.to == gen.Atom("acp:down") && a.request == (msg.EngineUsage{Session: "engine-1"}) {
			t.Errorf("%s was asked %+v", a.to, a.request)
		}
	}
}
