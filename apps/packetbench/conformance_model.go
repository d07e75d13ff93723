package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// scriptedModel turns a Script into what the loopback provider plays. It calls
// the tools that the engine itself offers its model. Safe for concurrent use.
type scriptedModel struct {
	toolless bool // A request without tools is part of a turn, too.

	mu      sync.Mutex
	project string
	steps   []conformance.Step
	release chan struct{}
	calls   int
	asked   bool
	tools   toolset
}

func (m *scriptedModel) load(project string, s conformance.Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.let()
	m.project, m.steps, m.release = project, slices.Clone(s.Steps), make(chan struct{})
}

// let ends a held answer; the lock is held.
func (m *scriptedModel) let() {
	if m.release != nil {
		close(m.release)
		m.release = nil
	}
}

func (m *scriptedModel) letGo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.let()
}

// met reports whether the engine has asked for a turn, and what it offered.
func (m *scriptedModel) met() (bool, toolset) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, m.tools
}

// next answers one request.
func (m *scriptedModel) next(r loopback.Recorded) loopback.Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	offered := offeredTools(r.Body)
	if asksAside(r.Body) || len(offered) == 0 && !m.toolless {
		return loopback.Turn{Text: []string{"Conformance"}}
	}
	m.asked, m.tools = true, fit(offered)
	if len(m.steps) == 0 {
		return loopback.Turn{Status: http.StatusBadRequest, Error: "the script has ended, and the model is asked again", ErrorType: "invalid_request_error"}
	}
	step := m.steps[0]
	m.steps = m.steps[1:]
	t := loopback.Turn{Thinking: step.Thinking, Text: step.Text}
	if step.Plan != nil && m.tools.plan != nil { // The words come once the plan has its result.
		m.steps = slices.Insert(m.steps, 0, conformance.Step{Text: step.Text, Hold: step.Hold})
		return loopback.Turn{Thinking: step.Thinking, Calls: []loopback.Call{m.call(m.tools.plan, m.tools.plan.planArguments(step.Plan))}}
	}
	for _, c := range step.Calls {
		if form := m.tools.form(c.Do); form != nil {
			t.Calls = append(t.Calls, m.call(form, form.arguments(m.project, c)))
		}
	}
	switch {
	case step.Limited != nil:
		t.Status, t.Error, t.ErrorType = http.StatusTooManyRequests, "slow down", "rate_limit_error"
		t.Header = http.Header{"Retry-After": {strconv.FormatFloat(*step.Limited, 'f', -1, 64)}}
	case step.Fail != "":
		// A bad request some clients try again without what may have been bad.
		t.Status, t.Error, t.ErrorType = http.StatusForbidden, step.Fail, "permission_error"
	case step.Hold:
		t.Wait = m.release
	}
	return t
}

func (m *scriptedModel) call(form *toolForm, arguments map[string]any) loopback.Call {
	m.calls++
	raw, err := contract.Marshal(arguments)
	if err != nil {
		raw = []byte("{}") // Not reached: strings, numbers, lists.
	}
	return loopback.Call{ID: "call_" + strconv.Itoa(m.calls), Name: form.name, Arguments: string(raw)}
}

func asksAside(body []byte) bool {
	var asked struct {
		Model string `json:"model"`
	}
	return json.Unmarshal(body, &asked) == nil && asked.Model == sideModel
}

// schema is as much of a JSON schema as filling in arguments needs.
type schema struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
}

func (s schema) is(kind string) bool { return s.Type == kind }

// offeredTool is one tool of a model request.
type offeredTool struct {
	name string
	in   schema
}

// offeredTools reads the tools of a request in each of the three wires' forms;
// what has another form is left out.
func offeredTools(body []byte) (all []offeredTool) {
	var request struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(body, &request) != nil {
		return nil
	}
	for _, raw := range request.Tools {
		type form struct {
			Name       string `json:"name"`
			Parameters schema `json:"parameters"`
			Input      schema `json:"input_schema"`
		}
		var t struct {
			form
			Function form `json:"function"`
		}
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		for _, f := range []form{t.Function, t.form} {
			if f.Name == "" {
				continue
			}
			if f.Parameters.Properties == nil {
				f.Parameters = f.Input
			}
			all = append(all, offeredTool{f.Name, f.Parameters})
			break
		}
	}
	return all
}

// toolForm is how one tool is called: which argument is the path, the text, the
// command or the plan.
type toolForm struct {
	offeredTool
	path, text, command, plan string
}

// toolset is what the engine's tools can be made to do; nil where none can.
type toolset struct{ read, write, run, plan *toolForm }

// The names under which tools are known, in order of preference, compared
// without case and without what separates words.
var (
	readNames   = []string{"read", "readfile", "view", "viewfile", "openfile", "cat"}
	writeNames  = []string{"write", "writefile", "createfile", "writetofile", "savefile"}
	runNames    = []string{"bash", "shell", "runcommand", "runshellcommand", "executecommand", "runterminalcommand", "execcommand", "terminal", "exec", "run"}
	planNames   = []string{"todowrite", "updateplan", "writetodos", "todo", "plan"}
	pathKeys    = []string{"filePath", "file_path", "path", "absolute_path", "filename", "file", "target_file"}
	textKeys    = []string{"content", "contents", "text", "file_text", "new_string"}
	commandKeys = []string{"command", "cmd", "script", "command_line"}
	planKeys    = []string{"todos", "plan", "items", "steps", "tasks"}
)

// fit finds the tools by name and arguments.
func fit(offered []offeredTool) (s toolset) {
	pick := func(names []string, roles func(*toolForm) bool) *toolForm {
		for _, name := range names {
			for _, o := range offered {
				f := &toolForm{offeredTool: o}
				if plain(o.name) == name && roles(f) {
					return f
				}
			}
		}
		return nil
	}
	s.read = pick(readNames, func(f *toolForm) bool { return f.has(&f.path, pathKeys) })
	s.write = pick(writeNames, func(f *toolForm) bool { return f.has(&f.path, pathKeys) && f.has(&f.text, textKeys) })
	s.run = pick(runNames, func(f *toolForm) bool { return f.has(&f.command, commandKeys) })
	s.plan = pick(planNames, func(f *toolForm) bool {
		return f.has(&f.plan, planKeys) && f.in.Properties[f.plan].is("array") && f.in.Properties[f.plan].Items != nil
	})
	return s
}

func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// has finds the first of keys among the arguments.
func (f *toolForm) has(role *string, keys []string) bool {
	for _, k := range keys {
		if _, ok := f.in.Properties[k]; ok {
			*role = k
			return true
		}
	}
	return false
}

func (s toolset) form(a conformance.Action) *toolForm {
	switch a {
	case conformance.ActionRead:
		return s.read
	case conformance.ActionWrite:
		return s.write
	case conformance.ActionRun:
		return s.run
	}
	return nil
}

// missing says which kind of tool there is none of; empty when all are there.
func (s toolset) missing() string {
	for _, t := range []struct {
		form *toolForm
		does string
	}{{s.read, "reads a file"}, {s.write, "writes a file"}, {s.run, "runs a command"}} {
		if t.form == nil {
			return "the engine offers its model no tool that " + t.does + " and that could be told from its name and arguments"
		}
	}
	return ""
}

// String names the tools that were found.
func (s toolset) String() string {
	var out []string
	for _, t := range []struct {
		form *toolForm
		does string
	}{{s.read, "to read"}, {s.write, "to write"}, {s.run, "to run a command"}, {s.plan, "to plan"}} {
		if t.form != nil {
			out = append(out, t.form.name+" "+t.does)
		}
	}
	if out == nil {
		return "nothing that could be told"
	}
	return strings.Join(out, ", ") + "."
}

// arguments are those of a call that does what c says.
func (f *toolForm) arguments(project string, c conformance.Call) map[string]any {
	args := f.in.filled()
	if f.path != "" {
		args[f.path] = filepath.Join(project, c.Path)
	}
	if f.text != "" {
		args[f.text] = c.Text
	}
	if f.command != "" {
		args[f.command] = c.Text
		if f.in.Properties[f.command].is("array") {
			args[f.command] = []string{"sh", "-c", c.Text}
		}
	}
	return args
}

// planArguments are those of a call that publishes a plan.
func (f *toolForm) planArguments(items []contract.PlanItem) map[string]any {
	args := f.in.filled()
	list := []any{}
	of := *f.in.Properties[f.plan].Items
	for i, item := range items {
		one := of.filled()
		for _, k := range []string{"content", "step", "title", "task", "description", "activeForm"} {
			if _, ok := of.Properties[k]; ok {
				one[k] = item.Content
			}
		}
		if _, ok := of.Properties["status"]; ok {
			one["status"] = item.Status
		}
		if p, ok := of.Properties["id"]; ok && !p.is("integer") && !p.is("number") {
			one["id"] = strconv.Itoa(i + 1)
		}
		list = append(list, one)
	}
	args[f.plan] = list
	return args
}

// filled is an object with something in each argument that must be there.
func (s schema) filled() map[string]any {
	out := map[string]any{}
	for _, k := range s.Required {
		p := s.Properties[k]
		switch {
		case len(p.Enum) > 0:
			out[k] = p.Enum[0]
		case p.is("string"):
			out[k] = "conformance"
		case p.is("integer"), p.is("number"):
			out[k] = 1
		case p.is("boolean"):
			out[k] = false
		case p.is("array"):
			out[k] = []any{}
		case p.is("object"):
			out[k] = p.filled()
		default:
			out[k] = nil
		}
	}
	return out
}
