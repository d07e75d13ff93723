package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/contract"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// recorded is one line of a recording.
type recorded struct {
	T   int64           `json:"t"`
	Dir string          `json:"dir"`
	Msg json.RawMessage `json:"msg"`
}

// recording plays one recorded run into an engine: what the client of then sent
// becomes a wish of ours, what the engine of then said is said again under the
// ids that our own requests got. Probes that a host of ours never sends are left
// out, with their answers.
type recording struct {
	t       *testing.T
	e       *engine
	now     time.Time
	out     bytes.Buffer
	methods map[string]string                  // Recorded id of a request to its method.
	ids     map[string]uint64                  // Recorded id to ours.
	convs   map[string]contract.ConversationID // Engine session to conversation.
	n, turn int
}

func play(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{
		t: t, e: newEngine(Spec{Name: "recorded"}, "0.0.0", MaxResident), now: time.Unix(1_800_000_000, 0),
		methods: map[string]string{}, ids: map[string]uint64{}, convs: map[string]contract.ConversationID{},
	}
	r.e.phase = phaseStarting
	scan := bufio.NewScanner(bytes.NewReader(raw))
	scan.Buffer(nil, 1<<22)
	for scan.Scan() {
		var l recorded
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Msg == nil {
			continue
		}
		if l.Dir == "client->agent" {
			r.client(l.Msg)
		} else {
			r.agent(l.Msg)
		}
	}
	r.next(exited{child.Exit{}})
	return r.out.Bytes()
}

// client turns a recorded line of the client into a wish.
func (r *recording) client(msg json.RawMessage) {
	f, err := decode(msg)
	if err != nil {
		return
	}
	params := object(f.params)
	session := str(params["sessionId"])
	conv := r.convs[session]
	id := string(f.id)
	wish := func(in any) {
		before := r.e.ids
		r.next(in)
		if r.e.ids > before {
			r.methods[id], r.ids[id] = f.method, before+1
		}
	}
	posture := contract.Posture{PermissionMode: contract.ModeAskForRisky}
	switch {
	case f.kind == frameResponse:
		for _, a := range r.e.openAsks(func(a *ask) bool { return string(a.raw) == id }) {
			chosen := str(object(object(f.result)["outcome"])["optionId"])
			d := contract.Deny
			for _, o := range a.options {
				if o.id == chosen && strings.HasPrefix(o.kind, "allow") {
					d = contract.Decision(o.kind)
				}
			}
			r.next(answer{a.conv, a.id, d})
		}
	case f.method == methodInitialize && r.e.phase == phaseStarting:
		wish(spawned{})
	case f.method == methodNew, f.method == methodLoad:
		r.n++
		conv = contract.ConversationID(fmt.Sprintf("c-%d", r.n))
		wish(begin{conv: conv, cwd: str(params["cwd"]), engineID: session, adopt: session != "", posture: posture})
		if session != "" && r.e.sessions[conv] != nil {
			r.convs[session] = conv
		}
	case conv == "":
	case f.method == methodPrompt:
		r.turn++
		text := str(object(array(params["prompt"])[0])["text"])
		wish(send{conv, contract.TurnID(fmt.Sprintf("t-%d", r.turn)), prompt{text: text}})
	case f.method == methodCancel:
		if s := r.e.sessions[conv]; s != nil && s.turn != nil {
			r.next(cancel{conv, s.turn.id})
		}
	case f.method == methodClose:
		wish(leave{conv})
	}
}

// agent says a recorded line of the engine, with an answer's id made ours.
func (r *recording) agent(msg json.RawMessage) {
	f, err := decode(msg)
	if err != nil {
		return
	}
	if f.kind == frameResponse {
		id, known := r.ids[string(f.id)]
		if !known {
			return
		}
		delete(r.ids, string(f.id))
		var m map[string]json.RawMessage
		if err := json.Unmarshal(msg, &m); err != nil {
			r.t.Fatal(err)
		}
		m["id"] = json.RawMessage(fmt.Sprint(id))
		if msg, err = json.Marshal(m); err != nil {
			r.t.Fatal(err)
		}
	}
	r.next(line{child.Line{Text: msg, Size: int64(len(msg))}})
	if f.kind != frameRequest && f.kind != frameNotification {
		for id, s := range r.e.byEngine {
			r.convs[id] = s.conv
		}
	}
}

func (r *recording) next(in any) {
	r.now = r.now.Add(time.Millisecond)
	for _, x := range r.e.next(in, r.now) {
		r.out.WriteString(describe(r.t, x) + "\n")
	}
}

// describe is one effect on one line.
func describe(t *testing.T, x effect) string {
	t.Helper()
	switch x := x.(type) {
	case write:
		return "write " + string(x.line)
	case emit:
		lines := make([]string, 0, len(x.events))
		for _, ev := range x.events {
			payload, err := contract.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s %s %s %s", x.conv, x.turn, ev.Kind(), payload))
		}
		return strings.Join(lines, "\n")
	case asked:
		a := x.ask
		return fmt.Sprintf("ask %s %s %s %s %s kind=%s paths=%v lasting=%v", a.conv, a.turn, a.id, a.name, a.arguments, a.kind, a.paths, a.lastingOnly())
	case ready:
		return fmt.Sprintf("ready %+v", x.caps)
	case offers:
		return fmt.Sprintf("offers %+v", x.models)
	case refused:
		return fmt.Sprintf("refused %s %s %d %s", x.conv, x.turn, x.failure.Code, x.failure.Message)
	case unanswered:
		return fmt.Sprintf("unanswered %s %s %d %s", x.ask.conv, x.ask.id, x.failure.Code, x.failure.Message)
	case reply:
		value, err := contract.Marshal(x.value)
		if err != nil {
			t.Fatal(err)
		}
		if x.failure != nil {
			return fmt.Sprintf("reply %v failed %d %s", x.token, x.failure.Code, x.failure.Message)
		}
		return fmt.Sprintf("reply %v %s", x.token, value)
	case called:
		return fmt.Sprintf("called %s %s %s kind=%s paths=%v", x.conv, x.turn, x.id, x.kind, x.paths)
	case used:
		if x.cost != nil {
			return fmt.Sprintf("used %s %s %+v model=%q cost=%g", x.conv, x.turn, x.usage, x.model, *x.cost)
		}
		return fmt.Sprintf("used %s %s %+v model=%q", x.conv, x.turn, x.usage, x.model)
	case note:
		return "note " + x.level.String() + " " + x.text
	}
	return strings.TrimPrefix(fmt.Sprintf("%T%+v", x, x), "acp.")
}

// Every recording of a real engine, against everything a host of ours would do:
// what it publishes, asks, tells and writes. Source: acp.md 12.12.
func TestEngine_Recordings(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.ndjson"))
	if err != nil || len(paths) < 14 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			got := play(t, path)
			golden := strings.TrimSuffix(path, ".ndjson") + ".golden"
			if *updateGolden {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the effects differ from %s; got:\n%s", golden, got)
			}
		})
	}
}
