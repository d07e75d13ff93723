package supervisors

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	o := make(owners)
	o.owns("sidecar", "c2")
	o.owns("sidecar", "c1")
	o.owns("sidecar", "c1") // twice is once
	o.owns("acp:x", "c1")
	o.owns("sidecar", "c3")
	o.released("sidecar", "c3")
	o.released("sidecar", "never")
	o.released("nobody", "c1")
	if got, want := o.gone("sidecar"), []gen.Atom{"c1", "c2"}; !slices.Equal(got, want) {
		t.Fatalf("gone %v, want %v", got, want)
	}
	if got := o.gone("sidecar"); len(got) != 0 {
		t.Fatalf("gone a second time: %v", got)
	}
	if got, want := o.gone("acp:x"), []gen.Atom{"c1"}; !slices.Equal(got, want) || len(o) != 0 {
		t.Fatalf("the sibling lost %v, want %v; left %v", got, want, o)
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := newPlaces(3)
	if !p.free(2) || p.free(3) || !newPlaces(0).free(1_000_000) {
		t.Fatal("free is wrong at its edge")
	}
	if name, ok := p.pick(); ok {
		t.Fatalf("picked %s of nobody", name)
	}
	p.said("late", now)
	p.said("b", now.Add(-time.Minute))
	p.said("a", now.Add(-time.Minute))
	p.said("busy", now.Add(-time.Hour))
	if p.said("busy", time.Time{}) {
		t.Fatal("one that was not asked refused")
	}
	for _, want := range []gen.Atom{"a", "b", "late"} {
		if got, ok := p.pick(); !ok || got != want {
			t.Fatalf("picked %s, %v; want %s", got, ok, want)
		}
	}
	if name, ok := p.pick(); ok {
		t.Fatalf("asked %s twice", name)
	}
	if !p.said("b", time.Time{}) {
		t.Fatal("b refused and it was not noticed")
	}
	p.gone("a")
	p.giveUp()
	if len(p.asked) != 0 || len(p.idle) != 0 {
		t.Fatalf("left: asked %v, idle %v", p.asked, p.idle)
	}
	p.said("late", now)
	if got, ok := p.pick(); !ok || got != "late" {
		t.Fatalf("after a new report: %s, %v", got, ok)
	}
}

func TestRow_Covers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		row, name gen.Atom
		want      bool
	}{
		{"acp:", "acp:packetcode", true},
		{"acp:", "acp:", false},
		{"acp:", "acp", false},
		{"acp:", "xacp:y", false},
		{"sidecar", "sidecar", true},
		{"sidecar", "sidecar:2", false},
		{"sidecar", "", false},
	} {
		if got := (&row{name: tc.row}).covers(tc.name); got != tc.want {
			t.Errorf("%q covers %q: %v, want %v", tc.row, tc.name, got, tc.want)
		}
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", strings.Repeat("x", 499) + "\u00e9", strings.Repeat("\u20ac", 400), strings.Repeat("x", 498) + "\U0001F600"} {
		got := short(s)
		if len(got) > maxReason || !utf8.ValidString(got) || !strings.HasPrefix(s, got) || len(s) > maxReason && len(got) < maxReason-utf8.UTFMax {
			t.Errorf("%d bytes became %d: %q", len(s), len(got), got)
		}
	}
	if got := short(strings.Repeat("\xff", 600)); len(got) < maxReason-utf8.UTFMax {
		t.Errorf("bytes that are no text were cut to %d", len(got))
	}
}

// Every name of the tree has a supervisor, and that one has a row for it.
func TestSupervisorOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sup gen.Atom
	}{
		{msg.Store, msg.CoreSup},
		{msg.SessionsSup, msg.AgentSup},
		{msg.Sidecar, msg.EnginesSup},
		{msg.EngineName("packetcode"), msg.EnginesSup},
		{msg.ConversationName("c-1"), msg.SessionsSup},
		{msg.TerminalName("t"), msg.TerminalsSup},
		{msg.MCPName("files"), msg.MCPSup},
		{msg.ViewerName(7), msg.ViewersSup},
		{msg.Inspect, msg.OpsSup},
		{msg.MCPServer, msg.EdgeSup},
		{msg.ViewersSup, msg.EdgeSup},
		{msg.CoreSup, ""},
		{"", ""},
		{"conversation:", ""},
		{"conversation", ""},
		{"system_sup", ""},
		{"a:b", ""},
	} {
		sup, ok := msg.SupervisorOf(tc.name)
		if sup != tc.sup || ok != (tc.sup != "") {
			t.Errorf("%q is supervised by %q, %v; want %q", tc.name, sup, ok, tc.sup)
		}
	}
}
