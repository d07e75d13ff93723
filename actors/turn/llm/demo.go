package llm

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// demoProvider is a provider without a network, a key or a cost: a script that tries
// every part of the interface. It keeps nothing between requests; what to do
// next follows from the history alone. The tools it calls are the real ones,
// behind the real gates.
//
//	first request     thinking, a sentence that says what this is, list_directory
//	then              read_file of one listed file, if a readable one is there
//	prompt says edit  write_file of config.DemoFile
//	prompt says run   bash: echo hello
//	prompt says fail  a provider error instead of the rest
//	plan mode         a text with a "## Plan" section; no write_file, no bash
//	last              a text that reports what the tools answered
//
// A tool that the request does not offer is passed over. Token counts are
// characters / 4. Source: runtime.md 3, "Demo".
type demoProvider struct{ delay time.Duration }

func (d *demoProvider) ID() contract.ProviderID { return contract.ProviderDemo }

// The words that steer the script; "edit" also in "editing", not in "credit".
var (
	demoEdit = regexp.MustCompile(`(?i)\bedit`)
	demoRun  = regexp.MustCompile(`(?i)\brun`)
	demoFail = regexp.MustCompile(`(?i)\bfail`)
	demoPlan = regexp.MustCompile(`(?i)\bplan`)
	// A system prompt may speak of plans without being in plan mode.
	demoPlanMode = regexp.MustCompile(`(?i)plan mode is (active|on)\b|\bin plan mode\b`)
)

// demoState is what a history tells about the running turn.
type demoState struct {
	prompt string
	// calls and answers since the prompt, in order.
	calls   []Block
	answers map[string]Block
}

func readDemoState(history []Message) demoState {
	s := demoState{answers: make(map[string]Block)}
	last := lastUser(history)
	if last >= 0 {
		s.prompt = textOf(history[last])
	}
	for _, m := range history[last+1:] {
		for _, b := range m.Blocks {
			switch b.Type {
			case BlockToolUse:
				s.calls = append(s.calls, b)
			case BlockToolResult:
				s.answers[b.ID] = b
			case BlockText, BlockImage, BlockReasoning:
			}
		}
	}
	return s
}

// answer returns what the last call of a tool was answered.
func (s *demoState) answer(tool string) (Block, bool) {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].Name == tool {
			return s.answers[s.calls[i].ID], true
		}
	}
	return Block{}, false
}

// Stream plays the next part of the script.
func (d *demoProvider) Stream(ctx context.Context, _ string, req Request, emit func(Chunk) error) error {
	p := &demoPlayer{ctx: ctx, delay: d.delay, out: &sink{emit: emit}}
	s := readDemoState(req.Messages)
	offered := func(tool string) bool {
		return slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == tool })
	}
	planning := demoPlanMode.MatchString(req.System) || demoPlan.MatchString(s.prompt)
	if len(s.calls) == 0 {
		p.think("The offline demo has no model behind it. I will look at the project with a real tool and then do what the prompt's words ask for.")
		p.say("This is the offline demo: a fixed script, no model is involved and nothing leaves this machine. ")
	}
	step := demoNext(&s, planning, offered)
	switch {
	case step != nil:
		p.say(step.why)
		p.call(step.tool, step.arguments)
	case demoFail.MatchString(s.prompt):
		if p.err == nil {
			p.err = &StreamError{Provider: contract.ProviderDemo, Message: "The demo provider failed on purpose, because the prompt contains the word fail. Send a prompt without that word to go on."}
		}
	default:
		p.say(demoReport(&s))
		if planning || demoRefusedByPlan(&s) {
			p.say("\n\n## Plan\n\n1. Read the files that matter in this project.\n2. Write `" + config.DemoFile + "` with a short note.\n3. Run `echo hello` to show a command.\n\nLeave plan mode and send a prompt with the words edit and run to carry it out.")
		} else {
			p.say("\n\nTry a prompt with one of the words edit, run, plan or fail. Add a key in Settings > API keys to talk to a model.")
		}
	}
	if p.err != nil {
		return p.err
	}
	p.out.usage = usage{
		input:  count{n: Estimate(req), known: true},
		output: count{n: uint64(p.characters) / 4, known: true},
	}
	return p.out.done()
}

type demoStep struct {
	why, tool string
	arguments any
}

// demoNext returns the next tool call, or nil when the script has called all
// it wants.
func demoNext(s *demoState, planning bool, offered func(string) bool) *demoStep {
	listing, listed := s.answer("list_directory")
	if !listed {
		if len(s.calls) == 0 && offered("list_directory") {
			return &demoStep{"First, what is in the project:", "list_directory", demoPath{"."}}
		}
	} else if _, read := s.answer("read_file"); !read && !listing.IsError && offered("read_file") {
		if name := demoReadable(listing.Content); name != "" {
			return &demoStep{"Now one of these files:", "read_file", demoPath{name}}
		}
	}
	if planning || demoRefusedByPlan(s) || demoFail.MatchString(s.prompt) {
		return nil
	}
	if _, written := s.answer("write_file"); !written && demoEdit.MatchString(s.prompt) && offered("write_file") {
		return &demoStep{"The prompt asks for an edit, so I write a small file:", "write_file", demoFile{config.DemoFile, demoContent(s.prompt)}}
	}
	if _, ran := s.answer("bash"); !ran && demoRun.MatchString(s.prompt) && offered("bash") {
		return &demoStep{"The prompt asks to run something, so I run a harmless command:", "bash", demoCommand{"echo hello"}}
	}
	return nil
}

type demoPath struct {
	Path string `json:"path"`
}

type demoFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type demoCommand struct {
	Command string `json:"command"`
}

func demoContent(prompt string) string {
	return "# " + config.AppName + " demo\n\nThe offline demo wrote this file through the ordinary permission gates.\n\nPrompt: " +
		Summary(prompt) + "\n"
}

// demoReadable picks the file of a listing that a person would open first.
func demoReadable(listing string) string {
	var names []string
	for line := range strings.Lines(listing) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "(") || line == config.DemoFile {
			continue
		}
		names = append(names, line)
	}
	for _, fits := range []func(string) bool{
		func(n string) bool { return strings.HasPrefix(strings.ToLower(n), "readme") },
		func(n string) bool { return path.Ext(n) == ".md" },
		func(n string) bool {
			return slices.Contains([]string{"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "Makefile"}, n)
		},
		func(n string) bool {
			return slices.Contains([]string{".txt", ".go", ".ts", ".js", ".py", ".rs", ".c", ".java", ".rb", ".sh"}, path.Ext(n))
		},
	} {
		if i := slices.IndexFunc(names, fits); i >= 0 {
			return names[i]
		}
	}
	return ""
}

func demoRefusedByPlan(s *demoState) bool {
	for _, a := range s.answers {
		if a.IsError && strings.HasPrefix(a.Content, "Plan mode is active") {
			return true
		}
	}
	return false
}

// demoReport says, per call, what its tool answered.
func demoReport(s *demoState) string {
	if len(s.calls) == 0 {
		return "No tool was offered to me, so there is nothing to show."
	}
	var b strings.Builder
	b.WriteString("What the tools answered:\n")
	for _, c := range s.calls {
		a, ok := s.answers[c.ID]
		first := Summary(a.Content)
		switch {
		case !ok:
			fmt.Fprintf(&b, "\n- %s: no answer", c.Name)
		case a.IsError:
			fmt.Fprintf(&b, "\n- %s did not run or failed: %s", c.Name, first)
		case c.Name == "list_directory":
			fmt.Fprintf(&b, "\n- %s: %d entries", c.Name, len(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(a.Content), " ", "_"), "\n", " "))))
		case c.Name == "read_file":
			fmt.Fprintf(&b, "\n- %s: %d characters", c.Name, utf8.RuneCountInString(a.Content))
		default:
			fmt.Fprintf(&b, "\n- %s: %s", c.Name, first)
		}
	}
	return b.String()
}

// demoPieceChars is about how much one delta holds.
const demoPieceChars = 14

// demoPlayer emits pieces with pauses; after the first error it does nothing.
type demoPlayer struct {
	ctx        context.Context // It lives as long as one call.
	delay      time.Duration
	out        *sink
	characters int
	err        error
}

// play sends a text in small pieces that end at spaces.
func (p *demoPlayer) play(text string, send func(string) error) {
	for text != "" && p.err == nil {
		n := len(text)
		if i := strings.IndexByte(text[min(demoPieceChars, n):], ' '); n > demoPieceChars && i >= 0 {
			n = demoPieceChars + i + 1
		}
		if p.err = pause(p.ctx, p.delay); p.err == nil {
			p.err = send(text[:n])
		}
		p.characters += utf8.RuneCountInString(text[:n])
		text = text[n:]
	}
}

func (p *demoPlayer) think(text string) {
	p.play(text, p.out.thinkingDelta)
	if p.err == nil {
		p.err = p.out.thinkingStop()
	}
}

func (p *demoPlayer) say(text string) { p.play(text, p.out.textDelta) }

func (p *demoPlayer) call(tool string, arguments any) {
	if p.err != nil {
		return
	}
	body, err := encode(arguments)
	if err != nil {
		p.err = err
		return
	}
	c := &call{id: madeUpID("demo"), name: tool}
	if p.err = c.start(p.out); p.err != nil {
		return
	}
	p.play(string(body), func(s string) error { return c.more(p.out, s) })
	if p.err == nil {
		p.err = c.end(p.out, "")
	}
}
