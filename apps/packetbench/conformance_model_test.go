package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/turn/llm/loopback"
	"github.com/packetbench/packetbench/contract"
	"github.com/packetbench/packetbench/contract/conformance"
)

// The tools of engines as their model requests carry them, in the forms of the
// three wires.
const (
	chatTools = `{"model":"conformance","stream":true,"tools":[
		{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"},"description":{"type":"string"}},"required":["command","description"]}}},
		{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"filePath":{"type":"string"},"limit":{"type":"number"}},"required":["filePath"]}}},
		{"type":"function","function":{"name":"write","parameters":{"type":"object","properties":{"filePath":{"type":"string"},"content":{"type":"string"}},"required":["filePath","content"]}}},
		{"type":"function","function":{"name":"todowrite","parameters":{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"status":{"type":"string"},"priority":{"type":"string","enum":["high","low"]},"id":{"type":"string"}},"required":["content","status","priority","id"]}}},"required":["todos"]}}}]}`
	responsesTools = `{"model":"conformance","stream":true,"tools":[
		{"type":"function","name":"shell","parameters":{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"}},"workdir":{"type":"string"}},"required":["command"]}},
		{"type":"function","name":"update_plan","parameters":{"type":"object","properties":{"plan":{"type":"array","items":{"type":"object","properties":{"step":{"type":"string"},"status":{"type":"string"}},"required":["step","status"]}}},"required":["plan"]}}]}`
	messagesTools = `{"model":"claude-x","stream":true,"tools":[
		{"name":"Read","input_schema":{"type":"object","properties":{"file_path":{"type":"string"}},"required":["file_path"]}},
		{"name":"Write","input_schema":{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"]}},
		{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"},"run_in_background":{"type":"boolean"}},"required":["command","run_in_background"]}}]}`
)

func TestScriptedModel_Tools(t *testing.T) {
	t.Parallel()
	step := conformance.Step{Calls: []conformance.Call{
		{Do: conformance.ActionRead, Path: "a.txt"}, {Do: conformance.ActionWrite, Path: "b.txt", Text: "new"}, {Do: conformance.ActionRun, Text: "echo one"},
	}}
	for _, tc := range []struct{ name, request, tools, missing, calls string }{
		{
			"chat", chatTools, "read to read, write to write, bash to run a command, todowrite to plan.", "",
			`read {"filePath":"p/a.txt"} write {"content":"new","filePath":"p/b.txt"} bash {"command":"echo one","description":"conformance"}`,
		},
		{
			"responses", responsesTools, "shell to run a command, update_plan to plan.", "reads a file",
			`shell {"command":["sh","-c","echo one"]}`,
		},
		{
			"messages", messagesTools, "Read to read, Write to write, Bash to run a command.", "",
			`Read {"file_path":"p/a.txt"} Write {"content":"new","file_path":"p/b.txt"} Bash {"command":"echo one","run_in_background":false}`,
		},
		{"names that say nothing", `{"tools":[{"name":"frob","input_schema":{"properties":{"path":{}}}},{"name":"read","input_schema":{"properties":{"nothing":{}}}},7]}`, "nothing that could be told", "reads a file", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &scriptedModel{}
			m.load("p", conformance.Script{Steps: []conformance.Step{step}})
			turn := m.next(loopback.Recorded{Body: []byte(tc.request)})
			var calls []string
			for _, c := range turn.Calls {
				calls = append(calls, c.Name+" "+strings.ReplaceAll(c.Arguments, `\\`, "/"))
			}
			asked, tools := m.met()
			if got := strings.Join(calls, " "); !asked || got != tc.calls {
				t.Errorf("asked %v, calls %s, want %s", asked, got, tc.calls)
			}
			if tools.String() != tc.tools || !strings.Contains(tools.missing(), tc.missing) || (tools.missing() == "") != (tc.missing == "") {
				t.Errorf("tools %q, missing %q", tools, tools.missing())
			}
		})
	}
}

// A plan is one call, and the words come with the next request.
func TestScriptedModel_Plan(t *testing.T) {
	t.Parallel()
	plan := []contract.PlanItem{{Content: "First", Status: contract.PlanInProgress}}
	for request, want := range map[string]string{
		chatTools:      `{"todos":[{"content":"First","id":"1","priority":"high","status":"in_progress"}]}`,
		responsesTools: `{"plan":[{"status":"in_progress","step":"First"}]}`,
	} {
		m := &scriptedModel{}
		m.load("p", conformance.Script{Steps: []conformance.Step{{Plan: plan, Text: []string{"Planned."}}}})
		turn := m.next(loopback.Recorded{Body: []byte(request)})
		if len(turn.Calls) != 1 || turn.Calls[0].Arguments != want || len(turn.Text) != 0 {
			t.Errorf("%+v, want %s", turn, want)
		}
		if turn = m.next(loopback.Recorded{Body: []byte(request)}); fmt.Sprint(turn.Text) != "[Planned.]" {
			t.Errorf("then %+v", turn)
		}
		if turn = m.next(loopback.Recorded{Body: []byte(request)}); turn.Status != 400 {
			t.Errorf("at the end %+v", turn)
		}
	}
}

// What is no part of a turn costs the script nothing.
func TestScriptedModel_Aside(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, request string
		toolless      bool
		want          string
	}{
		{"no tools", `{"model":"conformance"}`, false, "[Conformance]"},
		{"no tools, and never any", `{"model":"conformance"}`, true, "[Hello.]"},
		{"the other model", strings.Replace(chatTools, "conformance", sideModel, 1), false, "[Conformance]"},
		{"a turn", chatTools, false, "[Hello.]"},
		{"no JSON", `{`, false, "[Conformance]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &scriptedModel{toolless: tc.toolless}
			m.load("p", conformance.Script{Steps: []conformance.Step{{Text: []string{"Hello."}}}})
			if got := fmt.Sprint(m.next(loopback.Recorded{Body: []byte(tc.request)}).Text); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// A held answer ends when it is let go, once.
func TestScriptedModel_Hold(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{}
	m.load("p", conformance.Script{Steps: []conformance.Step{{Hold: true}, {Hold: true}}})
	turn := m.next(loopback.Recorded{Body: []byte(chatTools)})
	m.letGo()
	m.letGo()
	<-turn.Wait
	m.load("p", conformance.Script{Steps: []conformance.Step{{Hold: true}}})
	turn = m.next(loopback.Recorded{Body: []byte(chatTools)})
	select {
	case <-turn.Wait:
		t.Error("a new script is let go at once")
	default:
	}
	m.load("p", conformance.Script{})
	<-turn.Wait
}

// A request is somebody else's: whatever it holds, there is an answer, and what
// is called gets arguments that are an object.
func FuzzScriptedModel(f *testing.F) {
	for _, s := range []string{chatTools, responsesTools, messagesTools, `{"tools":[null,{"function":7}]}`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m := &scriptedModel{toolless: true}
		m.load("p", conformance.Script{Steps: []conformance.Step{
			{Plan: []contract.PlanItem{{Content: "x"}}, Text: []string{"y"}},
			{Calls: []conformance.Call{{Do: conformance.ActionRead}, {Do: conformance.ActionWrite}, {Do: conformance.ActionRun}}},
		}})
		for range 3 {
			for _, c := range m.next(loopback.Recorded{Body: body}).Calls {
				var o map[string]any
				if c.Name == "" || json.Unmarshal([]byte(c.Arguments), &o) != nil {
					t.Fatalf("%+v", c)
				}
			}
		}
	})
}
