package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/bus"
	"github.com/packetbench/packetbench/contract"
)

// Events are counted by family, turns by outcome and restarts by kind; no label
// holds an id.
func TestCounted(t *testing.T) {
	t.Parallel()
	c := newCounted(bus.NewLog(bus.LogOptions{}))
	for subject, payload := range map[string]string{
		"api-agent.chunk.c1": `"a"`, "api-agent.chunk.c2": `"b"`, "sidecar-status.changed": `{}`,
		"conversation.turn-ended.c1": `{"turn_id":"t","outcome":"done"}`, "conversation.turn-ended.c2": `{"turn_id":"t","outcome":"error"}`,
		"ops.restart": `{"actor":"acp:mine","reason":"killed","count_in_window":1}`, "terminal.exited.t-1": `{}`,
	} {
		c.count(subject, []byte(payload))
	}
	for _, tc := range []struct {
		got  []contract.SubjectCount
		want string
	}{
		{c.list(c.subjects), "[{api-agent.chunk 2} {conversation.turn-ended 2} {ops.restart 1} {sidecar-status.changed 1} {terminal.exited 1}]"},
		{c.list(c.turns), "[{done 1} {error 1}]"},
		{c.list(c.restarts), "[{acp 1}]"},
	} {
		if got := fmt.Sprint(tc.got); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
	if _, err := c.Publish("no subject of ours", "", []byte("{}")); err == nil {
		t.Error("taken")
	}
	if got := len(c.list(c.subjects)); got != 5 {
		t.Errorf("what the log refused is counted: %d", got)
	}
}

func TestFigures_Tree(t *testing.T) {
	t.Parallel()
	node := func(name, kind string, mailbox int64, detail string, children ...contract.TreeNode) contract.TreeNode {
		return contract.TreeNode{Name: name, Kind: kind, Mailbox: mailbox, Detail: json.RawMessage(detail), Children: children}
	}
	tree := contract.Tree{
		House: &contract.HouseFacts{Awake: 2, Alarms: []contract.Alarm{{}}},
		Root: node("n", "application", 0, "",
			node("conversation:c1", "actor", 4, `{"session_id":"c1"}`, node("turn t-1", "meta", 0, "")),
			node("conversation:c2", "actor", 9, ``),
			node("sidecar", "actor", 0, `{"child_pid":10}`),
		),
	}
	tree.Root.Children[2].LimitReached = true
	var all figures
	all.tree(tree, residents{bytes: map[int]uint64{10: 100, 11: 20, 12: 3, 99: 7}, children: map[int][]int{10: {11}, 11: {12}, 1: {99}}})
	var got []string
	for _, f := range all.list {
		got = append(got, fmt.Sprintf("%s%v%v", strings.TrimPrefix(f.Name, "packetbench_"), f.Labels, f.Value))
	}
	slices.Sort(got)
	want := []string{
		"actors[actor conversation]2", "actors[actor sidecar]1", "actors_down[]1", "alarms[]1", "child_memory_bytes[actor sidecar]123",
		"conversations_awake[]2", "mailbox_messages[actor conversation]13", "mailbox_messages[actor sidecar]0", "mailbox_most[]9", "turns_running[]1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What the system tells of memory: our own, and that of a program that we run.
func TestResidents(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		if own, _ := readResidents().service(); own != 0 {
			t.Errorf("%d bytes of a system that tells none", own)
		}
		return
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	r := readResidents()
	own, children := r.service()
	if own < 1<<20 || children < r.tree(cmd.Process.Pid) || r.tree(cmd.Process.Pid) == 0 || r.tree(os.Getpid()) != own+children {
		t.Errorf("own %d, children %d, of cat %d", own, children, r.tree(cmd.Process.Pid))
	}
}
