package plaintext

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	tree := contract.Tree{BootID: "b1", Time: time.Unix(1_700_000_000, 0), Root: contract.TreeNode{
		Name: "packetbench@localhost", Kind: "application", State: "running", UptimeS: 3661,
		Children: []contract.TreeNode{
			{Name: "core_sup", Kind: "supervisor", Behavior: "policy", State: "running", Children: []contract.TreeNode{
				{Name: "store", Kind: "actor", State: "running", Mailbox: 1, MailboxMaxSeen: 9, MessagesIn: 12, MessagesOut: 10, MaxRestarts: 3, WindowS: 60},
				{Name: "bus", Kind: "actor", State: "down", Restarts: 3, RestartsInWindow: 3, MaxRestarts: 3, WindowS: 60, LimitReached: true, LastReason: "disk full\nmore"},
			}},
			{Name: "conversation:c-1", Kind: "actor", Restarts: 1, Detail: json.RawMessage("{\n \"turn\": \"t-1\",\n \"title\": \"\\u001b[31m\"}"), Children: []contract.TreeNode{
				{Name: "turn\x1b[2J", Kind: "meta", Detail: json.RawMessage("{}")},
			}},
		},
	}}
	golden(t, "tree.txt", Tree(tree))
	tree.House = &contract.HouseFacts{
		Actors: 500, Awake: 3, Stored: 10_000, MemoryBytes: 45 << 20, ChildBytes: 700,
		Log:     contract.LogFacts{Up: true, First: 5, Last: 90, Bytes: 3 << 20, Waiting: 4},
		Windows: []contract.WindowFacts{{Lag: 3}, {Lag: 17}},
		Sidecar: contract.SidecarStatus{State: "ready"},
		Alarms:  []contract.Alarm{{Actor: "bus", Kind: contract.AlarmLimit, Text: "bus failed too often.\x1b[31m", Since: time.Unix(1_700_000_000, 0)}},
	}
	tree.Root.Children[0].Children[0].Rates = &contract.TreeRates{SampleEvery: 2, In: []float64{0, 1, 4, 8}, Out: []float64{0, 0, 0, 2.5}}
	tree.Root.Children[0].Children[0].Alarms = []contract.AlarmKind{contract.AlarmMailbox}
	tree.Root.Children[0].Children[1].Alarms = []contract.AlarmKind{contract.AlarmLimit}
	golden(t, "tree-house.txt", Tree(tree))
}

func TestFit(t *testing.T) {
	t.Parallel()
	text := "one\ntwo long\nthree\nfour\n"
	for _, tc := range []struct {
		cols, rows int
		want       string
	}{
		{80, 24, text},
		{4, 24, "one\ntwo \nthre\nfour\n"},
		{80, 5, text},
		{80, 4, "one\ntwo long\n... 2 more lines; without --watch all of them are printed\n"},
		{5, 2, "... 4\n"},
		{0, 0, text},
	} {
		if got := Fit(text, tc.cols, tc.rows); got != tc.want {
			t.Errorf("%d x %d: %q", tc.cols, tc.rows, got)
		}
	}
}

func TestSpark(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]float64{
		"": {0, 0}, "\u2581\u2588": {0, 9}, "\u2588\u2588": {0.1, 0.1}, "\u2581\u2585\u2588": {1, 50, 100},
	} {
		if got := Spark(values); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	id := contract.ConversationID("c-1")
	var lines strings.Builder
	seq := uint64(0)
	add := func(subject string, turn contract.TurnID, data string) {
		seq++
		lines.WriteString(Event(contract.Envelope{Seq: seq, Time: time.Unix(1_700_000_000, 123_000_000), Subject: subject, Turn: turn, Data: json.RawMessage(data)}))
		lines.WriteString("\n")
	}
	for _, k := range contract.Kinds {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "contract", "testdata", string(k)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var g struct{ Full, Minimal json.RawMessage }
		if err := json.Unmarshal(raw, &g); err != nil {
			t.Fatal(err)
		}
		subject, err := contract.Subject(k, id)
		if err != nil {
			t.Fatal(err)
		}
		add(subject, "t-1", string(g.Full))
		add(subject, "", string(g.Minimal))
	}
	for _, e := range []struct {
		what contract.What
		data string
	}{
		{contract.WhatUserTurn, `{"message_id":"m-1","content":"two\nlines","attachments":[],"queued":true}`},
		{contract.WhatTurnStarted, `{"turn_id":"t-1"}`},
		{contract.WhatTurnEnded, `{"turn_id":"t-1","outcome":"cancelled"}`},
		{contract.WhatPromptResolved, `{"id":"a","decision":"deny","by":"timeout"}`},
		{contract.WhatNotice, `{"message_id":"m-2","level":"warning","text":"look"}`},
		{contract.WhatUpdated, `{"status":"active"}`},
		{contract.WhatDeleted, `{}`},
	} {
		subject, err := contract.ConversationSubject(e.what, id)
		if err != nil {
			t.Fatal(err)
		}
		add(subject, "", e.data)
	}
	add(contract.SubjectProviderAuth, "", `{"provider":"anthropic"}`)
	add(contract.OpsSubject(contract.OpsRestart), "", `{"actor":"bus"}`)
	add("later.thing", "", `{"a":1}`)
	add("api-agent.done.c-1", "t-1", `"of another shape"`)
	golden(t, "events.txt", lines.String())
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	c := contract.Conversation{
		Summary: contract.Summary{
			SessionID: "c-1", Title: "A title\nin two lines", Provider: "demo", Model: "m", ProjectPath: "a b",
			Status: contract.StatusFailed, CreatedAt: time.Unix(1_700_000_000, 0),
		},
		Messages: []contract.Message{
			{Role: contract.RoleUser, Content: "Look at **this**.\n\nPlease.", Timestamp: 1_700_000_000_000, Attachments: []contract.AttachmentInfo{{MediaType: "image/png", Size: 12, Name: "a.png"}}},
			{
				Role: contract.RoleAssistant, Timestamp: 1_700_000_001_000, Outcome: contract.OutcomeError,
				Content: "Looking \U0001F600.Found it.\n\nError: gone", Thinking: "hm\nso", InputTokens: 5, OutputTokens: 7,
				Parts: []contract.Part{
					{Type: contract.PartThinking, Length: 5},
					{Type: contract.PartText, Length: 11},
					{Type: contract.PartTool, ID: "a"},
					{Type: contract.PartRequest},
					{Type: contract.PartText, Length: 9},
					{Type: contract.PartTool, ID: "unknown"},
				},
				ToolCalls: []contract.ToolCall{{ID: "a", Name: "read_file", Status: contract.ToolDone, Input: `{"path":"a.md"}`, Content: "```go\nx\n```\n\x1b[31mred\n"}},
			},
			{Role: contract.RoleSystem, Content: "The model was changed.", Level: contract.LevelInfo},
			{Role: contract.RoleUser, Content: "More.", Queued: true, Timestamp: 1_700_000_002_000},
			{Role: contract.RoleAssistant, IsStreaming: true, Timestamp: 1_700_000_003_000, Content: "So far", Parts: []contract.Part{{Type: contract.PartText, Length: 6}}},
		},
	}
	golden(t, "transcript.md", Transcript(c))
}

func TestSafe(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain \u2014 \U0001F600\n\t": "plain \u2014 \U0001F600\n\t",
		"\x1b[31mred\x07":             "?[31mred?",
		"a\rb\x00c\x7f\u009b":         "a?b?c??",
		"\u202egnp.exe\u2066":         "?gnp.exe?",
		"torn \xe2\x80":               "torn \ufffd",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 3, "too..."},
		{"one\ntwo", 10, "one ..."},
		{"one\r\n\n", 10, "one"},
		{"a\tb", 10, "a b"},
		{"\u00e9\u00e9\u00e9", 2, "\u00e9\u00e9..."},
		{"", 3, ""},
	} {
		if got := Line(tc.in, tc.most); got != tc.want {
			t.Errorf("Line(%q, %d) = %q, want %q", tc.in, tc.most, got, tc.want)
		}
	}
}

// FuzzEvent: no event panics, drives the terminal or takes more than one line.
func FuzzEvent(f *testing.F) {
	f.Add("api-agent.chunk.c-1", "t-1", []byte(`"a\u001b[31m\n"`))
	f.Add("conversation.user-turn.c-1", "", []byte(`{"message_id":"m-1","content":"x"}`))
	f.Add("\x1b.x.y", "\x07", []byte("\x00"))
	f.Fuzz(func(t *testing.T, subject, turn string, data []byte) {
		line := Event(contract.Envelope{Seq: 1, Subject: subject, Turn: contract.TurnID(turn), Data: data})
		if strings.ContainsAny(line, "\n\x1b\r\x00\x07") || !utf8.ValidString(line) {
			t.Fatalf("%q", line)
		}
	})
}
