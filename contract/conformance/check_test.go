package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/contract"
)

const summary = `{"session_id":"c-1","title":"t","row":"api-demo","provider":"demo","model":"m","project_path":"p","status":"idle",` +
	`"archived":false,"pinned":false,"created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05.5Z","needs_you":0,"queued":0}`

const noTokens = `"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0`

// good is a stream with one of everything that the in-process transport does:
// "turn name payload", with "-" for no turn.
var good = []string{
	`- created ` + summary,
	`- user-turn {"message_id":"m-1","content":"hi","attachments":[{"media_type":"image/png","size":3}],"queued":false}`,
	`t-1 turn-started {"turn_id":"t-1"}`,
	`t-1 updated {"status":"active","updated_at":"2026-01-02T03:04:06Z"}`,
	`t-1 rate-limited {"retry_after_seconds":0.5}`,
	`t-1 thinking {"text":"hm"}`,
	`t-1 thinking-stop null`,
	`t-1 chunk "Hel\ud83d\ude00"`,
	`t-1 tool-start {"id":"a","name":"bash"}`,
	`t-1 prompt-opened {"id":"a","tier":"blocking","destructive":false,"allow_pattern":"bash(ls)","sources":[{"origin":"web_fetch","label":"page"}]}`,
	`t-1 permission-request {"id":"a","name":"bash","arguments":"{}"}`,
	`t-1 user-turn {"message_id":"m-2","content":"more","attachments":[],"queued":true}`,
	`t-1 queue-changed {"items":[{"message_id":"m-2","content":"more"}]}`,
	`t-1 prompt-resolved {"id":"a","decision":"deny","by":"user"}`,
	`t-1 tool-result {"id":"a","name":"bash","content":"no","is_error":true,"input":"{}"}`,
	`t-1 tool-start {"id":"w","name":"write_file"}`,
	`t-1 pending-edit {"id":"w","path":"a.go","content":"x","before":"y"}`,
	`t-1 edit-resolved {"id":"w","decision":"apply","by":"user"}`,
	`t-1 tool-result {"id":"w","name":"write_file","content":"ok","is_error":false,"input":"{}"}`,
	`t-1 tool-start {"id":"v","name":"write_file"}`,
	`t-1 edit-baseline {"id":"v","path":"b.go"}`,
	`t-1 tool-result {"id":"v","name":"write_file","content":"ok","is_error":false,"input":""}`,
	`t-1 thinking {"text":"so"}`,
	`t-1 thinking-stop null`,
	`t-1 done {"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false}`,
	`t-1 turn-ended {"turn_id":"t-1","outcome":"done"}`,
	`- queue-changed {"items":[]}`,
	`- user-turn {"message_id":"m-2","content":"more","attachments":[],"queued":false}`,
	`t-2 turn-started {"turn_id":"t-2"}`,
	`t-2 chunk "text"`,
	`t-2 error {"message":"The provider is gone."}`,
	`t-2 turn-ended {"turn_id":"t-2","outcome":"error"}`,
	`- notice {"message_id":"m-3","level":"warning","text":"hm"}`,
	`- posture-changed {"plan_mode":false,"permission_mode":"auto","approve_writes":true}`,
	`- updated {"reload":true,"rate_limited":null,"context":{"used":1,"window":2}}`,
	`t-3 turn-started {"turn_id":"t-3"}`,
	`t-3 chunk "again"`,
	`t-3 done {` + noTokens + `,"cancelled":true}`,
	`t-3 turn-ended {"turn_id":"t-3","outcome":"cancelled"}`,
	`- user-turn {"message_id":"m-4","content":"killed","attachments":[],"queued":false}`,
	`t-4 turn-started {"turn_id":"t-4"}`,
	`t-4 tool-start {"id":"k","name":"bash"}`,
	`t-4 prompt-opened {"id":"k","tier":"blocking","destructive":true}`,
	`t-4 permission-request {"id":"k","name":"bash","arguments":"{}"}`,
	`- prompt-resolved {"id":"k","decision":"deny","by":"restart"}`,
	`t-4 turn-ended {"turn_id":"t-4","outcome":"interrupted"}`,
	`- deleted {}`,
}

// envelopes builds a stream of conversation c-1. A name with a dot is a whole
// subject.
func envelopes(t testing.TB, lines []string) []contract.Envelope {
	t.Helper()
	var all []contract.Envelope
	for i, line := range lines {
		f := strings.SplitN(line, " ", 3)
		if len(f) != 3 {
			t.Fatalf("line %q", line)
		}
		subject := f[1]
		var err error
		switch {
		case strings.Contains(subject, "."):
		case contract.Kind(subject).Valid():
			subject, err = contract.Subject(contract.Kind(subject), "c-1")
		default:
			subject, err = contract.ConversationSubject(contract.What(subject), "c-1")
		}
		if err != nil {
			t.Fatal(err)
		}
		turn, _ := strings.CutPrefix(f[0], "-")
		all = append(all, contract.Envelope{
			Seq: uint64(i + 10), Time: time.Unix(int64(i), 0), Subject: subject, Turn: contract.TurnID(turn), Data: []byte(f[2]),
		})
	}
	return all
}

func TestCheck_Good(t *testing.T) {
	t.Parallel()
	for _, p := range Check(contract.TransportInProcess, envelopes(t, good)) {
		t.Error(p)
	}
	// A stream may be looked at before its last turn has ended.
	for n := range good {
		for _, p := range Check(contract.TransportInProcess, envelopes(t, good[:n])) {
			t.Errorf("the first %d events: %s", n, p)
		}
	}
	for _, p := range Check(contract.TransportSidecar, envelopes(t, []string{
		`- mcp-sources {"sources":[],"readErrors":[]}`, // Declared, so a problem: checked below.
	})) {
		if p.Rule != RuleKind {
			t.Error(p)
		}
	}
	for _, p := range Check(contract.TransportInProcess, envelopes(t, []string{`- error {"message":"Unknown provider."}`})) {
		t.Errorf("a refused start: %s", p)
	}
}

// with replaces the first line that begins with prefix by lines.
func with(prefix string, lines ...string) func([]string) []string {
	return func(s []string) []string {
		i := slices.IndexFunc(s, func(l string) bool { return strings.HasPrefix(l, prefix) })
		if i < 0 {
			return nil
		}
		return slices.Replace(slices.Clone(s), i, i+1, lines...)
	}
}

// after puts lines behind the first line that begins with prefix.
func after(prefix string, lines ...string) func([]string) []string {
	return func(s []string) []string {
		i := slices.IndexFunc(s, func(l string) bool { return strings.HasPrefix(l, prefix) })
		if i < 0 {
			return nil
		}
		return slices.Insert(slices.Clone(s), i+1, lines...)
	}
}

// TestCheck_Bad breaks the good stream in one place; each rule must be able to
// fail, at the event that broke it.
func TestCheck_Bad(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func([]string) []string
		rule Rule
		text string
	}{
		{"subject of nobody", after(`- created`, `- command.get_tree {}`), RuleSubject, "no subject of a conversation"},
		{"subject of a terminal", after(`- created`, `- terminal.exited.c-1 {}`), RuleSubject, "no subject of a conversation"},
		{"another conversation", after(`- created`, `- conversation.deleted.c-2 {}`), RuleSubject, "belongs to c-2"},
		{"unknown member", after(`- created`, `- conversation.painted.c-1 {}`), RuleSubject, "no member of the family"},

		{"kind it never emits", after(`t-1 chunk`, `t-1 plan-block {"items":[]}`), RuleKind, "never emits plan-block"},
		{"output it never emits", after(`t-1 tool-start {"id":"a"`, `t-1 tool-output-extended {"id":"a"}`), RuleKind, "never emits tool-output-extended"},
		{"summary it never emits", after(`t-1 chunk`, `t-1 turn-summary {`+noTokens+`}`), RuleKind, "never emits turn-summary"},
		{"sources it never emits", after(`t-1 chunk`, `t-1 mcp-sources {"sources":[],"readErrors":[]}`), RuleKind, "never emits mcp-sources"},
		{"key it never fills", with(`t-1 tool-start {"id":"a"`, `t-1 tool-start {"id":"a","name":"bash","input":"{}"}`), RuleKey, "never fills input"},
		{"batch it never has", with(`t-1 permission-request`, `t-1 permission-request {"id":"a","name":"bash","arguments":"{}","batch_id":"b"}`), RuleKey, "never fills batch_id"},
		{"resume token it never has", with(`t-3 done`, `t-3 done {`+noTokens+`,"cancelled":true,"resume_token":"r"}`), RuleKey, "never fills resume_token"},

		{"no JSON", with(`t-1 chunk`, `t-1 chunk "`), RuleShape, "no JSON"},
		{"chunk that is an object", with(`t-1 chunk`, `t-1 chunk {"text":"x"}`), RuleShape, "is map"},
		{"thinking-stop that is an object", with(`t-1 thinking-stop`, `t-1 thinking-stop {}`), RuleShape, "is not null"},
		{"required key missing", with(`t-1 tool-result {"id":"a"`, `t-1 tool-result {"id":"a","name":"bash","content":"no","is_error":true}`), RuleShape, "input: is missing"},
		{"cancelled missing", with(`t-3 done`, `t-3 done {`+noTokens+`}`), RuleShape, "cancelled: is missing"},
		{"optional key null", with(`t-1 pending-edit`, `t-1 pending-edit {"id":"w","path":"a.go","content":"x","before":null}`), RuleShape, "before: is null"},
		{"key of the envelope", with(`t-1 done`, `t-1 done {`+noTokens+`,"cancelled":false,"turn_id":"t-1"}`), RuleShape, "turn_id: is no key"},
		{"camelCase", with(`t-1 tool-result {"id":"a"`, `t-1 tool-result {"id":"a","name":"bash","content":"no","isError":true,"input":"{}"}`), RuleShape, "isError: is no key"},
		{"negative count", with(`t-3 done`, `t-3 done {"input_tokens":-1,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":true}`), RuleShape, "input_tokens: is"},
		{"count that is a text", with(`t-3 done`, `t-3 done {"input_tokens":"1","output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":true}`), RuleShape, "input_tokens: is"},
		{"negative wait", with(`t-1 rate-limited`, `t-1 rate-limited {"retry_after_seconds":-1}`), RuleShape, "negative"},
		{"list that is null", with(`- user-turn {"message_id":"m-1"`, `- user-turn {"message_id":"m-1","content":"hi","attachments":null,"queued":false}`), RuleShape, "attachments: is null"},
		{"image data", with(`- user-turn {"message_id":"m-1"`, `- user-turn {"message_id":"m-1","content":"hi","attachments":[{"media_type":"image/png","size":3,"data_base64":"AA"}],"queued":false}`), RuleShape, "data_base64: is no key"},
		{"time that is none", with(`- created`, strings.Replace(good[0], `"created_at":"2026-01-02T03:04:05Z"`, `"created_at":"yesterday"`, 1)), RuleShape, "no RFC 3339 time"},
		{"patch of an unknown key", with(`t-1 updated`, `t-1 updated {"colour":"red"}`), RuleShape, "colour: is no key"},
		{"patch of the id", with(`t-1 updated`, `t-1 updated {"session_id":"c-2"}`), RuleShape, "does not change"},
		{"patch of a wrong type", with(`t-1 updated`, `t-1 updated {"needs_you":"1"}`), RuleShape, "needs_you: is"},
		{"patch that clears what must be there", with(`t-1 updated`, `t-1 updated {"status":null}`), RuleShape, "status: is null"},

		{"invalid UTF-8", with(`t-1 chunk`, "t-1 chunk \"a\xe2\x80\""), RuleText, "not valid UTF-8"},
		{"half a pair", with(`t-1 chunk`, `t-1 chunk "a\ud83d"`), RuleText, "half of a surrogate pair"},
		{"the other half", with(`t-1 chunk`, `t-1 chunk "\ude00a"`), RuleText, "half of a surrogate pair"},
		{"empty chunk", with(`t-1 chunk`, `t-1 chunk ""`), RuleText, "empty"},
		{"empty thinking", with(`t-1 thinking {`, `t-1 thinking {"text":""}`), RuleText, "empty"},

		{"another turn in the envelope", with(`t-1 chunk`, `t-9 chunk "x"`), RuleTurnID, `turn "t-9"`},
		{"no turn in the envelope", with(`t-1 chunk`, `- chunk "x"`), RuleTurnID, `turn ""`},
		{"turn-started of another", with(`t-2 turn-started`, `t-1 turn-started {"turn_id":"t-2"}`), RuleTurnID, "the payload t-2"},
		{"turn id again", func(s []string) []string {
			out := slices.Clone(s)
			for i, l := range out {
				out[i] = strings.ReplaceAll(l, "t-2", "t-1")
			}
			return out
		}, RuleTurnID, "does not follow t-1"},
		{"turn id that is none", func(s []string) []string {
			out := slices.Clone(s)
			for i, l := range out {
				out[i] = strings.ReplaceAll(l, "t-3", "three")
			}
			return out
		}, RuleTurnID, "does not follow"},
		{"end of another turn", with(`t-2 turn-ended`, `t-2 turn-ended {"turn_id":"t-1","outcome":"error"}`), RuleTurnID, "the running one is t-2"},
		{"end with another envelope", with(`t-2 turn-ended`, `t-1 turn-ended {"turn_id":"t-2","outcome":"error"}`), RuleTurnID, "the envelope says"},

		{"event before the turn", after(`- created`, `t-1 chunk "x"`), RuleTurn, "outside a turn"},
		{"event without turn-started", with(`t-1 turn-started`), RuleTurn, "outside a turn"},
		{"turn without a message", with(`- user-turn {"message_id":"m-1"`), RuleTurn, "without a user message"},
		{"turn inside a turn", after(`t-1 chunk`, `t-2 turn-started {"turn_id":"t-2"}`), RuleTurn, "while t-1 runs"},
		{"message accepted inside a turn", after(`t-1 chunk`, `t-1 user-turn {"message_id":"m-9","content":"x","attachments":[],"queued":false}`), RuleTurn, "while a turn runs"},
		{"end of no turn", after(`t-1 turn-ended`, `t-1 turn-ended {"turn_id":"t-1","outcome":"done"}`), RuleTurn, "none runs"},
		{"late event of an old turn", after(`t-1 turn-ended`, `t-1 chunk "late"`), RuleTurn, "outside a turn"},
		{"prompt outside a turn", after(`- created`, `- prompt-opened {"id":"a","tier":"read","destructive":false}`), RuleTurn, "outside a turn"},

		{"two terminal events", after(`t-1 done`, `t-1 error {"message":"x"}`), RuleTerminal, "comes after done"},
		{"done twice", after(`t-3 done`, `t-3 done {`+noTokens+`,"cancelled":true}`), RuleTerminal, "comes after done"},
		{"text after the end", after(`t-2 error`, `t-2 chunk "x"`), RuleTerminal, "comes after error"},
		{"no terminal event", with(`t-2 error`), RuleTerminal, "ends as error without done or error"},
		{"outcome of a cancel", with(`t-3 turn-ended`, `t-3 turn-ended {"turn_id":"t-3","outcome":"done"}`), RuleTerminal, "its last event says cancelled"},
		{"outcome of an error", with(`t-2 turn-ended`, `t-2 turn-ended {"turn_id":"t-2","outcome":"interrupted"}`), RuleTerminal, "its last event says error"},
		{"error without a word", with(`t-2 error`, `t-2 error {"message":" "}`), RuleTerminal, "says nothing"},

		{"text inside thinking", with(`t-1 thinking-stop`), RuleThinking, "before the thinking-stop"},
		{"end inside thinking", func(s []string) []string {
			return with(`t-2 chunk`, `t-2 thinking {"text":"x"}`)(s)
		}, RuleThinking, "before the thinking-stop"},
		{"tool inside thinking", after(`t-1 chunk`, `t-1 thinking {"text":"x"}`), RuleThinking, "before the thinking-stop"},
		{"prompt inside thinking", after(`t-1 tool-start {"id":"a"`, `t-1 thinking {"text":"x"}`), RuleThinking, "before the thinking-stop"},
		{"edit inside thinking", after(`t-1 tool-start {"id":"w"`, `t-1 thinking {"text":"x"}`), RuleThinking, "before the thinking-stop"},
		{"stop twice", after(`t-1 thinking-stop`, `t-1 thinking-stop null`), RuleThinking, "no thinking run"},

		{"call announced twice", after(`t-1 tool-start {"id":"a"`, `t-1 tool-start {"id":"a","name":"bash"}`), RuleTool, "announced twice"},
		{"call never announced", with(`t-1 tool-start {"id":"v"`), RuleTool, "never announced"},
		{"call settled twice", after(`t-1 tool-result {"id":"a"`, `t-1 tool-result {"id":"a","name":"bash","content":"no","is_error":true,"input":"{}"}`), RuleTool, "settled twice"},
		{"call never settled", with(`t-1 tool-result {"id":"v"`), RuleTool, "still open"},
		{"baseline of no call", with(`t-1 edit-baseline`, `t-1 edit-baseline {"id":"z","path":"b.go"}`), RuleTool, "not running"},
		{"baseline after the result", after(`t-1 tool-result {"id":"v"`, `t-1 edit-baseline {"id":"v","path":"b.go"}`), RuleTool, "not running"},
		{"baseline without an id", with(`t-1 edit-baseline`, `t-1 edit-baseline {"id":"","path":"b.go"}`), RuleTool, "not running"},

		{"prompt not opened", with(`t-1 prompt-opened`), RulePrompt, "does not follow its prompt-opened"},
		{"prompt opened for another", with(`t-1 prompt-opened`, `t-1 prompt-opened {"id":"b","tier":"blocking","destructive":false}`), RulePrompt, "does not follow its prompt-opened"},
		{"prompt opened and not raised", with(`t-1 permission-request`), RulePrompt, "stands between"},
		{"event between", after(`t-1 prompt-opened`, `t-1 chunk "x"`), RulePrompt, "stands between"},
		{"prompt opened twice", after(`t-1 permission-request`, `t-1 prompt-opened {"id":"a","tier":"blocking","destructive":false}`, `t-1 permission-request {"id":"a","name":"bash","arguments":"{}"}`), RulePrompt, "opened twice"},
		{"prompt resolved twice", after(`t-1 prompt-resolved`, `t-1 prompt-resolved {"id":"a","decision":"deny","by":"user"}`), RulePrompt, "resolved twice"},
		{"prompt of nobody resolved", after(`t-1 chunk`, `t-1 prompt-resolved {"id":"z","decision":"deny","by":"user"}`), RulePrompt, "never opened"},
		{"prompt resolved outside a turn", after(`- created`, `- prompt-resolved {"id":"z","decision":"deny","by":"user"}`), RulePrompt, "outside a turn"},
		{"result while the prompt is open", with(`t-1 prompt-resolved`), RulePrompt, "settled while its prompt is open"},
		{"result while the edit is open", with(`t-1 edit-resolved`), RulePrompt, "settled while its edit is open"},
		{"edit raised twice", after(`t-1 pending-edit`, `t-1 pending-edit {"id":"w","path":"a.go","content":"x"}`), RulePrompt, "raised twice"},
		{"end while a prompt is open", func(s []string) []string {
			return after(`t-4 permission-request`, `t-4 done {`+noTokens+`,"cancelled":true}`)(s)
		}, RulePrompt, "still open"},

		{"prompt of no call", func(s []string) []string {
			s = with(`t-1 prompt-opened`, `t-1 prompt-opened {"id":"1","tier":"blocking","destructive":false}`)(s)
			s = with(`t-1 permission-request`, `t-1 permission-request {"id":"1","name":"bash","arguments":"{}"}`)(s)
			return with(`t-1 prompt-resolved`, `t-1 prompt-resolved {"id":"1","decision":"deny","by":"user"}`)(s)
		}, RulePromptID, "no running call has the id 1"},
		{"edit of no call", with(`t-1 pending-edit`, `t-1 pending-edit {"id":"z","path":"a.go","content":"x"}`), RulePromptID, "no running call has the id z"},

		{"denied and successful", with(`t-1 tool-result {"id":"a"`, `t-1 tool-result {"id":"a","name":"bash","content":"ok","is_error":false,"input":"{}"}`), RuleRefused, "refused and ended without an error"},
		{"rejected and successful", with(`t-1 edit-resolved`, `t-1 edit-resolved {"id":"w","decision":"reject","by":"timeout"}`), RuleRefused, "refused and ended without an error"},

		{"queued twice", after(`t-1 queue-changed`, `t-1 user-turn {"message_id":"m-2","content":"more","attachments":[],"queued":true}`), RuleQueue, "queued twice"},
		{"announced twice", after(`t-2 turn-ended`, `- user-turn {"message_id":"m-2","content":"more","attachments":[],"queued":false}`), RuleQueue, "announced twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines := tc.edit(good)
			if lines == nil {
				t.Fatal("the good stream has no such line")
			}
			problems := Check(contract.TransportInProcess, envelopes(t, lines))
			for _, p := range problems {
				if p.Rule == tc.rule && strings.Contains(p.Text, tc.text) {
					if p.Seq == 0 || p.Subject == "" {
						t.Errorf("the problem does not say where: %s", p)
					}
					return
				}
			}
			t.Fatalf("want %s with %q, got %v", tc.rule, tc.text, problems)
		})
	}
}

func TestCheck_Sequence(t *testing.T) {
	t.Parallel()
	for name, swap := range map[string]func([]contract.Envelope){
		"repeated": func(e []contract.Envelope) { e[7].Seq = e[6].Seq },
		"backward": func(e []contract.Envelope) { e[7].Seq = e[3].Seq },
		"zero":     func(e []contract.Envelope) { e[0].Seq = 0 },
	} {
		events := envelopes(t, good)
		swap(events)
		problems := Check(contract.TransportInProcess, events)
		if len(problems) != 1 || problems[0].Rule != RuleSequence {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestCheck_OtherTransports: what one transport never does is another's duty.
func TestCheck_OtherTransports(t *testing.T) {
	t.Parallel()
	sidecar := []string{
		`- user-turn {"message_id":"m-1","content":"hi","attachments":[],"queued":false}`,
		`t-1 turn-started {"turn_id":"t-1"}`,
		`t-1 tool-start {"id":"a","name":"Bash","input":"{}"}`,
		`t-1 prompt-opened {"id":"a","tier":"blocking","destructive":false}`,
		`t-1 permission-request {"id":"a","name":"Bash","arguments":"{}","batch_id":"b","batch_size":2}`,
		`t-1 prompt-resolved {"id":"a","decision":"allow_once","by":"user"}`,
		`t-1 edit-baseline {"id":"","path":"b.go"}`,
		`t-1 tool-result {"id":"a","name":"","content":"ok","is_error":false,"input":""}`,
		`t-1 tool-output-extended {"id":"a","exit_code":0}`,
		`t-1 plan-block {"items":[{"content":"x","status":"pending","activeForm":"y"}]}`,
		`t-1 turn-summary {` + noTokens + `}`,
		`t-1 done {` + noTokens + `,"cancelled":false,"resume_token":"r"}`,
		`t-1 turn-ended {"turn_id":"t-1","outcome":"done"}`,
	}
	for _, p := range Check(contract.TransportSidecar, envelopes(t, sidecar)) {
		t.Error(p)
	}
	output := with(`t-1 tool-output-extended`, `t-1 tool-output-extended {"id":"z"}`)(sidecar)
	if problems := Check(contract.TransportSidecar, envelopes(t, output)); len(problems) != 1 || problems[0].Rule != RuleTool {
		t.Errorf("output of no call: %v", problems)
	}
	acp := []string{
		`- user-turn {"message_id":"m-1","content":"hi","attachments":[],"queued":false}`,
		`t-1 turn-started {"turn_id":"t-1"}`,
		`t-1 tool-start {"id":"a","name":"Run","input":"{}"}`,
		`t-1 prompt-opened {"id":"7","tier":"blocking","destructive":false}`,
		`t-1 permission-request {"id":"7","name":"Run","arguments":"{}"}`,
		`t-1 prompt-resolved {"id":"7","decision":"allow_once","by":"user"}`,
		`t-1 tool-result {"id":"a","name":"Run","content":"ok","is_error":false,"input":"{}"}`,
		`t-1 done {` + noTokens + `,"cancelled":false}`,
		`t-1 turn-ended {"turn_id":"t-1","outcome":"done"}`,
	}
	for _, p := range Check(contract.TransportACP, envelopes(t, acp)) {
		t.Error(p)
	}
	counted := with(`t-1 done`, `t-1 done {"input_tokens":9,"output_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cancelled":false}`)(acp)
	if problems := Check(contract.TransportACP, envelopes(t, counted)); len(problems) != 1 || problems[0].Rule != RuleCounts {
		t.Errorf("counts of an engine: %v", problems)
	}
	for _, kind := range []string{
		`t-1 pending-edit {"id":"a","path":"p","content":"c"}`, `t-1 edit-baseline {"id":"a","path":"p"}`,
		`t-1 tool-output-extended {"id":"a"}`, `t-1 turn-summary {` + noTokens + `}`, `t-1 rate-limited {}`,
	} {
		problems := Check(contract.TransportACP, envelopes(t, after(`t-1 tool-start`, kind)(acp)))
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Rule == RuleKind }) {
			t.Errorf("%s: %v", kind, problems)
		}
	}
}

func TestCheckOneShot(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		lines []string
		rules []Rule
	}{
		{"good", []string{`t-1 chunk "a"`, `t-1 done {` + noTokens + `,"cancelled":false}`}, nil},
		{"failed", []string{`t-1 error {"message":"no"}`}, nil},
		{"thinking", []string{`t-1 thinking {"text":"a"}`, `t-1 error {"message":"no"}`}, []Rule{RuleKind}},
		{"second family", []string{`t-1 turn-started {"turn_id":"t-1"}`, `t-1 error {"message":"no"}`}, []Rule{RuleKind}},
		{"no end", []string{`t-1 chunk "a"`}, []Rule{RuleTerminal}},
		{"two ends", []string{`t-1 error {"message":"no"}`, `t-1 error {"message":"no"}`}, []Rule{RuleTerminal}},
		{"text after the end", []string{`t-1 error {"message":"no"}`, `t-1 chunk "a"`}, []Rule{RuleTerminal}},
		{"bad payload", []string{`t-1 chunk 7`, `t-1 error {"message":"no"}`}, []Rule{RuleShape}},
	} {
		var rules []Rule
		for _, p := range CheckOneShot(envelopes(t, tc.lines)) {
			rules = append(rules, p.Rule)
		}
		if !slices.Equal(rules, tc.rules) {
			t.Errorf("%s: %v, want %v", tc.name, rules, tc.rules)
		}
	}
}

// TestDivergences: the table holds what contract.md 2 marks, and nothing else.
func TestDivergences(t *testing.T) {
	t.Parallel()
	want := map[contract.Transport][]string{
		contract.TransportInProcess: {"plan-block", "tool-output-extended", "turn-summary", "mcp-sources", "tool-start.input", "permission-request.batch_id", "permission-request.batch_size", "done.resume_token"},
		contract.TransportSidecar:   {"mcp-sources"},
		contract.TransportACP: {
			"pending-edit", "edit-baseline", "tool-output-extended", "turn-summary", "mcp-sources", "rate-limited",
			"permission-request.batch_id", "permission-request.batch_size", "done.resume_token", "prompt-id", "counts",
		},
	}
	if len(Divergences) != len(want) {
		t.Errorf("%d transports, want %d", len(Divergences), len(want))
	}
	for transport, subjects := range want {
		var got []string
		for _, d := range Divergences[transport] {
			got = append(got, d.Subject)
			if len(d.Reason) < 10 {
				t.Errorf("%s %s has no reason", transport, d.Subject)
			}
			kind, key, isKey := strings.Cut(d.Subject, ".")
			if isKey {
				if k, known := keysOf(payloads[kind])[key]; !known || !k.optional {
					t.Errorf("%s: %s is no optional key, so it cannot be absent", transport, d.Subject)
				}
			}
		}
		if !slices.Equal(got, subjects) {
			t.Errorf("%s: %v, want %v", transport, got, subjects)
		}
		for _, k := range contract.CoreKinds {
			if _, never := declared(transport, string(k)); never && (transport != contract.TransportInProcess || k != contract.KindPlanBlock) {
				t.Errorf("%s lacks %s, which every transport owes", transport, k)
			}
		}
	}
}

// FuzzCheck: no payload makes the checker panic, and what it accepts decodes.
func FuzzCheck(f *testing.F) {
	for i, line := range good {
		f.Add(i, []byte(strings.SplitN(line, " ", 3)[2]))
	}
	f.Add(7, []byte(`"\ud83d\u"`))
	f.Add(7, []byte(`"\`))
	f.Fuzz(func(t *testing.T, at int, payload []byte) {
		if at < 0 {
			at = -(at + 1)
		}
		events := envelopes(t, good)
		e := &events[at%len(events)]
		e.Data = payload
		for _, p := range Check(contract.TransportInProcess, events) {
			if p.Seq == e.Seq && (p.Rule == RuleShape || p.Rule == RuleText) {
				return
			}
		}
		a, err := contract.ParseSubject(e.Subject)
		if err != nil || a.Kind == "" {
			return
		}
		if _, err := contract.Decode(a.Kind, payload); err != nil {
			t.Fatalf("%s with %q is accepted and does not decode: %v", a.Kind, payload, err)
		}
	})
}
