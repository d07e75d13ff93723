//go:build integration && linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/turn/llm/llmtest"
	"github.com/packetbench/packetbench/contract"
)

// F28: a provider that goes silent after its first words: what it said is on
// disk, Stop works at once, and the next message is answered.
func TestService_StalledProvider(t *testing.T) {
	home := t.TempDir()
	release := make(chan struct{})
	provider := llmtest.NewKeylessChat(t)
	provider.TolerateProblems()
	calls := 0
	provider.Choose(func(llmtest.Recorded) llmtest.Turn {
		if calls++; calls == 1 {
			return llmtest.Turn{Text: []string{"half ", "an ", "answer "}, Wait: release}
		}
		return llmtest.Say("whole")
	})
	t.Cleanup(func() { close(release) })
	p := serve(t, home, []string{"PACKETBENCH_CUSTOM_COMPAT_URL=" + provider.URL + "/v1"})
	w := p.window(t)
	w.follow("new", "stall")
	w.must(contract.MethodStart, contract.StartParams{
		SessionID: "stall", Provider: "custom", Model: "m", ProjectPath: project(t), InitialMessage: "go", PermissionMode: contract.ModeAuto,
	}, nil)
	for heard := ""; !strings.Contains(heard, "answer"); {
		heard += text(t, []contract.Envelope{w.event()})
	}
	deadline := time.Now().Add(patience)
	for {
		r := readConversation(t, home, "stall")
		if n := len(r.Messages); n > 0 && strings.Contains(r.Messages[n-1].Content, "answer") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the words are not on disk")
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.must(contract.MethodCancel, contract.SessionParams{SessionID: "stall"}, nil)
	ended := w.until("conversation.turn-ended.")
	if last := string(ended[len(ended)-1].Data); !strings.Contains(last, string(contract.OutcomeCancelled)) {
		t.Errorf("ended %s", last)
	}
	w.must(contract.MethodSend, contract.SendParams{SessionID: "stall", Message: "again"}, nil)
	if said := text(t, w.until("api-agent.done.")); said != "whole" {
		t.Errorf("the next answer is %q", said)
	}
}

// F77 and interface.md decision 18: stored conversations are listed without
// reading them (a body that cannot be read is listed all the same) and run no
// actor; one that nobody needs goes to sleep and wakes by a command.
func TestService_HibernationAndListing(t *testing.T) {
	home, dir := t.TempDir(), project(t)
	first := serve(t, home, nil)
	w := first.window(t)
	for i := range 3 {
		w.must(contract.MethodStart, contract.StartParams{
			SessionID: contract.ConversationID(fmt.Sprintf("h-%d", i)), Provider: "demo", Model: "demo", ProjectPath: dir, Title: "stored", PermissionMode: contract.ModeAuto,
		}, nil)
	}
	if code := first.term(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	p := serve(t, home, []string{"PACKETBENCH_CONVERSATION_IDLE=200ms"})
	w = p.window(t)
	var list []contract.Summary
	w.must(contract.MethodListConversations, struct{}{}, &list)
	if len(list) != 3 {
		t.Fatalf("%d conversations listed", len(list))
	}
	awake := func() bool {
		var tree contract.Tree
		w.must(contract.MethodTree, struct{}{}, &tree)
		return treeNode(tree.Root, "conversation:h-1") != nil
	}
	if awake() {
		t.Error("a stored conversation runs an actor after the start")
	}
	for _, change := range []string{"first title", "second title"} {
		w.must(contract.MethodRename, contract.RenameParams{SessionID: "h-1", Title: change}, nil)
		if !awake() {
			t.Fatal("a command did not wake the conversation")
		}
		deadline := time.Now().Add(patience)
		for awake() {
			if time.Now().After(deadline) {
				t.Fatal("the conversation does not go to sleep")
			}
			time.Sleep(20 * time.Millisecond)
		}
		var s contract.Snapshot
		w.must(contract.MethodGetConversation, contract.SessionParams{SessionID: "h-1"}, &s)
		if s.Conversation.Title != change {
			t.Errorf("title %q after the sleep; want %q", s.Conversation.Title, change)
		}
		body, err := os.ReadFile(home + "/conversations/h-1.json")
		if err != nil || !json.Valid(body) {
			t.Errorf("file after the sleep: %v", err)
		}
	}
}
