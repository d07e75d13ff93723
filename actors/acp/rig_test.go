package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/contract"
)

// rig is an engine whose process is the test: it sees the effects and says the
// lines.
type rig struct {
	t    testing.TB
	e    *engine
	now  time.Time
	last []effect // Of the last input.
	all  []effect
}

func newRig(t testing.TB, s Spec) *rig {
	t.Helper()
	return &rig{t: t, e: newEngine(s, "1.2.3", MaxResident), now: time.Unix(1_800_000_000, 0)}
}

func (r *rig) do(in any) []effect {
	r.last = r.e.next(in, r.now)
	r.all = append(r.all, r.last...)
	return r.last
}

func (r *rig) line(text string) []effect {
	return r.do(line{child.Line{Text: []byte(text), Size: int64(len(text))}})
}

// start brings the engine up with the given answer to initialize.
func (r *rig) start(result string) {
	r.t.Helper()
	r.e.phase = phaseStarting
	r.do(spawned{})
	r.answerTo(methodInitialize, result)
}

func (r *rig) begin(conv contract.ConversationID, turn contract.TurnID) {
	r.t.Helper()
	r.do(begin{conv: conv, turn: turn, prompt: prompt{text: "hi"}, cwd: "/p", posture: contract.Posture{PermissionMode: contract.ModeAskForRisky}})
}

// session is a conversation that is open in the engine as s-<conv>.
func (r *rig) session(conv contract.ConversationID) {
	r.t.Helper()
	r.begin(conv, "")
	r.answerTo(methodNew, `{"sessionId":"s-`+string(conv)+`"}`)
}

// running is a session with a running turn.
func (r *rig) running(conv contract.ConversationID, turn contract.TurnID) {
	r.t.Helper()
	if r.e.sessions[conv] == nil {
		r.session(conv)
	}
	r.do(send{conv, turn, prompt{text: "hi"}})
}

// waits is the id of the oldest request of method that waits for its answer, 0
// for none.
func (r *rig) waits(method string) (id uint64) {
	for n, p := range r.e.pending {
		if p.method == method && (id == 0 || n < id) {
			id = n
		}
	}
	return id
}

func (r *rig) answerTo(method, result string) []effect {
	r.t.Helper()
	return r.answerLine(method, `"result":`+result)
}

func (r *rig) refuseTo(method string, code int, message string) []effect {
	r.t.Helper()
	return r.answerLine(method, fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, message))
}

func (r *rig) answerLine(method, rest string) []effect {
	r.t.Helper()
	id := r.waits(method)
	if id == 0 {
		r.t.Fatalf("no %s waits for an answer", method)
	}
	return r.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, rest))
}

func (r *rig) update(session, update string) []effect {
	return r.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":` + update + `}}`)
}

func (r *rig) ask(session, id string) []effect {
	return r.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"` + session + `","toolCall":{"toolCallId":"1","title":"run","rawInput":{}},"options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}`)
}

// wait lets time pass in steps as the shell would, until d has passed.
func (r *rig) wait(d time.Duration) {
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(min(tickMost, end.Sub(r.now)))
		r.do(elapsed{})
	}
}

// pick returns the effects of one type among effects.
func pick[T effect](effects []effect) (out []T) {
	for _, x := range effects {
		if x, ok := x.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

// wrote are the lines among effects, as text.
func wrote(effects []effect) (out []string) {
	for _, w := range pick[write](effects) {
		out = append(out, string(w.line))
	}
	return out
}

// sent are the methods of the requests and notifications among effects.
func sent(effects []effect) string {
	var out []string
	for _, l := range wrote(effects) {
		if m := str(object(json.RawMessage(l))["method"]); m != "" {
			out = append(out, m)
		}
	}
	return strings.Join(out, " ")
}

// events are all events of one conversation so far.
func (r *rig) events(conv contract.ConversationID) (out []contract.Event) {
	for _, x := range pick[emit](r.all) {
		if x.conv == conv {
			out = append(out, x.events...)
		}
	}
	return out
}

// kinds are the kinds of the events among effects.
func kinds(effects []effect) string {
	var out []string
	for _, x := range pick[emit](effects) {
		for _, e := range x.events {
			out = append(out, string(e.Kind()))
		}
	}
	return strings.Join(out, " ")
}

// failed is the text of the error event or of the refusal among effects, empty
// for none.
func failed(effects []effect) string {
	for _, x := range pick[refused](effects) {
		return x.failure.Message
	}
	for _, x := range pick[emit](effects) {
		for _, e := range x.events {
			if e, ok := e.(contract.Error); ok {
				return e.Message
			}
		}
	}
	return ""
}
