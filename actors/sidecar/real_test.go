//go:build unix

package sidecar

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// newRealRig starts a host whose child is the sidecar of this checkout.
func newRealRig(t *testing.T) *rig {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "sidecar", "dist", "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil || !isFile(path) {
		if os.Getenv("CI") != "" {
			t.Fatalf("the sidecar is not built (%s) or node is missing; run make sidecar", path)
		}
		t.Skipf("the sidecar is not built (%s) or node is missing; run make sidecar", path)
	}
	return newRigWith(t, map[string]string{EnvScript: path, EnvNode: node}, nil)
}

// The echo provider of the real child. Source: sidecar-protocol.md 12.1.
func TestRealSidecar_Echo(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.talk("c-1", false)
	r.open("c-1", "t-1", "hello wörld")
	r.closed("c-1", "t-1")
	r.send("c-1", "t-2", "more")
	r.closed("c-1", "t-2")
	r.say("c-1", pass{msg.HostSend{Conversation: "c-1", Turn: "t-3", Text: "more", Retry: true}})
	r.closed("c-1", "t-3")
	for turn, want := range map[contract.TurnID]string{"t-1": "hello wörld", "t-2": "more", "t-3": "[echo] retry\n"} {
		if got := r.text("c-1", turn); got != want {
			t.Errorf("%s: %q, want %q", turn, got, want)
		}
	}
	done := last(r, "c-1", func(m msg.Emitted) bool {
		_, ok := m.Events[len(m.Events)-1].(contract.Done)
		return ok && m.Turn == "t-1"
	})
	if d := done.Events[len(done.Events)-1].(contract.Done); d.InputTokens != 11 || d.OutputTokens != 11 {
		t.Errorf("done %+v", d)
	}

	// Commands between turns: their answers are no turn, failures are told.
	mode := contract.Posture{PermissionMode: contract.ModeAuto}
	r.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 1, Mode: &mode, Model: ptr("m-2")}})
	r.say("c-1", pass{msg.HostSet{Conversation: "c-1", Ref: 2, ApproveWrites: ptr(true)}})
	r.say("c-1", pass{msg.HostEdit{Conversation: "c-1", EditAnswer: msg.EditAnswer{ID: "u-1", Applied: true}}})
	r.say("c-1", pass{msg.HostCancelPending{Conversation: "c-1"}})
	if m := last(r, "c-1", func(m msg.HostReply) bool { return m.Ref == 1 }); m.Text != "" {
		t.Errorf("reply %+v", m)
	}
	if m := last(r, "c-1", func(m msg.HostReply) bool { return m.Ref == 2 }); m.Text != "echo does not support set_approve_writes" {
		t.Errorf("reply %+v", m)
	}
	await(t, "the refusal of cancel_pending_tools is in the log", func() bool {
		return strings.Contains(r.logs.String(), "echo does not support cancel_pending_tools")
	})

	// A cancelled turn ends once, and the next one is whole. The child works
	// both off before its first pause is over.
	r.send("c-1", "t-4", strings.Repeat("long ", 100))
	r.say("c-1", pass{msg.HostCancel{Conversation: "c-1", Turn: "t-4"}})
	r.closed("c-1", "t-4")
	r.send("c-1", "t-5", "after")
	r.closed("c-1", "t-5")
	ends := slices.DeleteFunc(r.said("c-1"), func(s string) bool { return !strings.HasPrefix(s, "t-4 done") })
	if len(ends) != 1 || !strings.Contains(ends[0], `"cancelled":true`) || r.text("c-1", "t-5") != "after" {
		t.Errorf("ends %q, then %q", ends, r.text("c-1", "t-5"))
	}
	for _, s := range r.said("c-1") {
		if strings.Contains(s, "edit_response") || strings.Contains(s, "set_model") {
			t.Errorf("a command's answer was published: %s", s)
		}
	}
	if done, err := r.call(r.host, msg.Drain{}); err != nil || done != (msg.Done{}) {
		t.Errorf("drain %v, %v", done, err)
	}
	r.ended()
}

// F22: kill -9 of the real child; a session of its own starts again elsewhere.
func TestRealSidecar_Killed(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.talk("c-1", false)
	r.open("c-1", "t-1", "hello")
	r.closed("c-1", "t-1")
	ready := r.status(msg.StateRunning).Detail.(Ready)
	if err := syscall.Kill(ready.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if m := last[msg.OwnerGone](r, "c-1", nil); !strings.HasPrefix(m.Reason, "Sidecar exited with signal SIGKILL") {
		t.Errorf("reason %q", m.Reason)
	}
}

// Protocol 8: an unknown provider is the error of its turn, and the session is
// opened again with the next.
func TestRealSidecar_UnknownProvider(t *testing.T) {
	t.Parallel()
	r := newRealRig(t)
	r.talk("c-1", false)
	r.say("c-1", pass{msg.HostOpen{Session: msg.HostSession{Provider: "nobody"}, HostSend: msg.HostSend{Conversation: "c-1", Turn: "t-1", Text: "x"}}})
	r.closed("c-1", "t-1")
	r.send("c-1", "t-2", "x")
	if m := last[msg.HostRefused](r, "c-1", nil); !m.Gone || m.Turn != "t-2" {
		t.Errorf("refused %+v", m)
	}
	if got := r.said("c-1"); !slices.Contains(got, `t-1 error {"message":"Unknown provider: nobody"}`) {
		t.Errorf("heard %q", got)
	}
	r.stop()
	if why := r.ended(); why != gen.TerminateReasonShutdown.Error() {
		t.Errorf("ended %q", why)
	}
}
