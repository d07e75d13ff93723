// Package enginetest is an engine for tests: a program that speaks the Agent
// Client Protocol, is strict about what it receives, and misbehaves on demand.
//
// A test binary becomes that program: call [ActIfAsked] first in TestMain, and
// start the binary itself with [Command] and the environment of [Env]. What
// breaks the protocol ends the program with code [ViolationCode] and a line on
// stderr, so that a host that sends something wrong fails its test.
//
// Its turns are chosen by the first word of the prompt:
//
//	hello      two text chunks
//	think      a thought, a text chunk
//	tool       a tool call with a permission request; the answer decides it
//	early      the same, the request before its tool call
//	plan       a plan of two entries, then an empty one
//	slow       a text chunk, then nothing until it is cancelled
//	stream N   N text chunks, each with the time it was sent at in ns
//	fail       an error
//	lost       the error of an engine that does not know the session
//	image      the MIME types of the images of the prompt
//	unknown    a request for a file, which must be refused with -32601
//	two        two permission requests under one id
//	long N     a line of N bytes, then a text chunk
//	endless    a line that never ends
//	die        a text chunk, words on stderr, exit code 3
//	mode       the mode and the model that the session is in
//
// Its switches, separated by spaces (a value after "="):
//
//	packetcode      the extensions of packetcode: usage, models, sessions
//	modes           modes and models by configOptions, as claude-agent-acp
//	oldmodes        modes and models by the older shapes and methods
//	load, resume    offers session/load, session/resume
//	close, list     offers session/close, session/list
//	images          offers images in prompts
//	store=DIR       sessions survive the process
//	replay          repeats the history of a session while it loads or resumes it
//	null            answers null to load and prompt
//	twice           answers each request twice
//	noise           sends what is no frame, or nobody's, before each answer
//	silent=METHOD   never answers METHOD
//	busy            answers -32000 to a prompt
//	login           answers -32000 to session/new until authenticate came
//	deaf            ignores session/cancel
//	stubborn        ignores the end of stdin and SIGTERM
//	crash           ends with code 1 and words on stderr before it has read
//	late=MS         waits before it answers initialize
//	version=N       answers with protocol version N
//	strings         gives its requests string ids; else numbers from 0
//	lasting         offers a lasting permission only
//	sameid          gives every session the same id
//	first           sends an update about a session before the answer to session/new
//	doctor=VERSION  answers "doctor --json" with this version, exit code 1
//	doctorhang      never answers "doctor --json"
package enginetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// variable turns a test binary into the engine; its value is the switches.
const variable = "FAKE_ENGINE"

// ViolationCode is the exit code of an engine that was sent something wrong.
const ViolationCode = 97

// ActIfAsked makes the program an engine when its environment says so, and does
// not return then. It is the first call of a TestMain.
func ActIfAsked() {
	switches, ok := os.LookupEnv(variable)
	if !ok {
		return
	}
	os.Exit(Run(strings.Fields(switches), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Env is what the environment of the engine must hold; values must not contain
// spaces.
func Env(switches ...string) map[string]string {
	return map[string]string{variable: strings.Join(switches, " ")}
}

// Command is the path of the running test binary.
func Command() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// Run is the engine itself. It returns its exit code.
func Run(switches, args []string, in io.Reader, out, log io.Writer) int {
	e := &engine{
		switches: map[string]string{}, out: out, log: log, sessions: map[string]*session{},
		open: map[string]chan json.RawMessage{}, done: make(chan int, 1),
	}
	for _, s := range switches {
		name, value, _ := strings.Cut(s, "=")
		e.switches[name] = value
	}
	if len(args) > 0 && args[0] == "doctor" {
		return e.doctor()
	}
	if e.has("crash") {
		_, _ = fmt.Fprintln(log, "cannot start: the configuration is broken")
		return 1
	}
	if e.has("stubborn") {
		signal.Ignore(syscall.SIGTERM)
	}
	go e.read(in)
	return <-e.done
}

type object = map[string]any

// session is one conversation as the engine knows it.
type session struct {
	id, mode, model string
	history         []string
	busy            bool
	lost            bool
	cancelled       chan struct{}
	input, output   int
}

// turn is what a running turn may read without the reader's state.
type turn struct {
	session, mode, model string
	n                    int // Of the session's turns, from 1.
	text                 string
	blocks               []block
	cancelled            chan struct{}
}

// engine holds its state under one lock; a line is written under it as well.
type engine struct {
	switches map[string]string
	log      io.Writer

	mu          sync.Mutex
	out         io.Writer
	initialized bool
	signed      bool
	sessions    map[string]*session
	made        int
	asked       int
	open        map[string]chan json.RawMessage
	done        chan int
}

func (e *engine) has(name string) bool { _, ok := e.switches[name]; return ok }

func (e *engine) leave(code int) {
	select {
	case e.done <- code:
	default:
	}
	select {} // Nothing more is said.
}

func (e *engine) violation(format string, args ...any) {
	_, _ = fmt.Fprintf(e.log, "violation: "+format+"\n", args...)
	e.leave(ViolationCode)
}

func (e *engine) doctor() int {
	if e.has("doctorhang") {
		time.Sleep(time.Hour)
	}
	_, _ = fmt.Fprintf(e.out, `{"schema_version":1,"status":"fail","version":%q,"checks":[]}`+"\n", e.switches["doctor"])
	return 1
}

func (e *engine) read(in io.Reader) {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var m struct {
			Version string           `json:"jsonrpc"`
			ID      json.RawMessage  `json:"id"`
			Method  string           `json:"method"`
			Params  *json.RawMessage `json:"params"`
			Result  json.RawMessage  `json:"result"`
			Error   json.RawMessage  `json:"error"`
		}
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
			e.violation("not JSON: %s", err)
		}
		switch {
		case m.Version != "2.0":
			e.violation("not JSON-RPC 2.0: %s", scan.Text())
		case m.Method == "":
			e.response(string(m.ID), m.Result, m.Error)
		case m.Params == nil:
			e.violation("%s without params", m.Method)
		default:
			e.request(m.ID, m.Method, *m.Params)
		}
	}
	if e.has("stubborn") {
		time.Sleep(time.Hour)
	}
	e.leave(0)
}

// say writes one line.
func (e *engine) say(m any) {
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.out.Write(append(raw, '\n'))
}

func (e *engine) raw(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = io.WriteString(e.out, text)
}

func (e *engine) answer(id json.RawMessage, method string, m object) {
	if e.switches["silent"] == method {
		return
	}
	m["jsonrpc"], m["id"] = "2.0", id
	if e.has("noise") {
		e.raw("this is not a frame\n{\"jsonrpc\":\"2.0\",\"id\":\n[]\n\n")
		e.say(object{"jsonrpc": "2.0", "id": nil, "error": object{"code": -32700, "message": "Parse error"}})
		e.say(object{"jsonrpc": "2.0", "id": 987654, "result": object{}})
		e.say(object{"jsonrpc": "2.0", "method": "vendor/news", "params": object{}})
	}
	e.say(m)
	if e.has("twice") {
		e.say(m)
	}
}

func (e *engine) result(id json.RawMessage, method string, result any) {
	e.answer(id, method, object{"result": result})
}

func (e *engine) failure(id json.RawMessage, method string, code int, message string) {
	e.answer(id, method, object{"error": object{"code": code, "message": message}})
}

func (e *engine) update(session string, update object) {
	e.say(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": session, "update": update}})
}

func (e *engine) chunk(session, text string) {
	e.update(session, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

// call asks the client and waits for its answer.
func (e *engine) call(method string, params object, twice bool) (result json.RawMessage) {
	ch := make(chan json.RawMessage, 1)
	e.mu.Lock()
	var id any = e.asked
	if e.has("strings") {
		id = fmt.Sprintf("fake-request-%d", e.asked)
	}
	e.asked++
	raw, _ := json.Marshal(id)
	e.open[string(raw)] = ch
	e.mu.Unlock()
	m := object{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
	e.say(m)
	if twice {
		e.say(m)
	}
	return <-ch
}

func (e *engine) response(id string, result, failure json.RawMessage) {
	e.mu.Lock()
	ch := e.open[id]
	delete(e.open, id)
	e.mu.Unlock()
	switch {
	case ch == nil:
		e.violation("an answer to %s, which is not open", id)
	case failure != nil:
		ch <- failure
	case result == nil:
		e.violation("an answer without result and error")
	default:
		ch <- result
	}
}

// params are the parameters of every request that we look at.
type params struct {
	SessionID  string           `json:"sessionId"`
	CWD        string           `json:"cwd"`
	MCPServers *json.RawMessage `json:"mcpServers"`
	ConfigID   string           `json:"configId"`
	Value      string           `json:"value"`
	ModeID     string           `json:"modeId"`
	ModelID    string           `json:"modelId"`
	MethodID   string           `json:"methodId"`
	Cursor     string           `json:"cursor"`
	Prompt     []block          `json:"prompt"`
	Own        struct {
		Model          string `json:"model"`
		PermissionMode string `json:"permissionMode"`
	} `json:"_packetcode"`
}

type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

func (e *engine) request(id json.RawMessage, method string, raw json.RawMessage) {
	var p params
	if err := json.Unmarshal(raw, &p); err != nil {
		e.violation("%s: %s", method, err)
	}
	if len(id) > 0 {
		if n, err := strconv.ParseUint(string(id), 10, 64); err != nil || n == 0 {
			e.violation("id %s is not a number from 1 on", id)
		}
	}
	if e.initialized == (method == "initialize") {
		e.violation("%s with initialized=%v", method, e.initialized)
	}
	switch method {
	case "initialize":
		e.initialize(id, raw)
	case "authenticate":
		e.signed = true
		e.result(id, method, object{})
	case "session/new":
		e.create(id, p)
	case "session/load", "session/resume":
		e.load(id, method, p)
	case "session/prompt":
		e.prompt(id, p)
	case "session/cancel":
		if len(id) > 0 {
			e.violation("session/cancel is a notification")
		}
		if s := e.sessions[p.SessionID]; s != nil && !e.has("deaf") {
			e.mu.Lock()
			if s.busy {
				select {
				case <-s.cancelled:
				default:
					close(s.cancelled)
				}
			}
			e.mu.Unlock()
		}
	case "session/close":
		if !e.has("close") {
			e.violation("session/close was not offered")
		}
		delete(e.sessions, p.SessionID)
		e.result(id, method, object{})
	case "session/set_config_option":
		s := e.sessions[p.SessionID]
		if !e.has("modes") || s == nil {
			e.failure(id, method, -32601, "Method not found: "+method)
			return
		}
		if p.ConfigID == "mode" {
			s.mode = p.Value
		} else {
			s.model = p.Value
		}
		e.result(id, method, object{"configOptions": e.options(s)})
	case "session/set_mode", "session/set_model":
		s := e.sessions[p.SessionID]
		if !e.has("oldmodes") || s == nil {
			e.failure(id, method, -32601, "Method not found: "+method)
			return
		}
		if p.ModeID != "" {
			s.mode = p.ModeID
		} else {
			s.model = p.ModelID
		}
		e.result(id, method, object{})
	default:
		e.extension(id, method, p)
	}
}

func (e *engine) initialize(id, raw json.RawMessage) {
	var p struct {
		ProtocolVersion    int `json:"protocolVersion"`
		ClientCapabilities *struct {
			FS struct {
				Read  *bool `json:"readTextFile"`
				Write *bool `json:"writeTextFile"`
			} `json:"fs"`
			Terminal any `json:"terminal"`
		} `json:"clientCapabilities"`
		ClientInfo struct{ Name, Version string } `json:"clientInfo"`
	}
	err := json.Unmarshal(raw, &p)
	c := p.ClientCapabilities
	if err != nil || p.ProtocolVersion != 1 || c == nil || c.FS.Read == nil || *c.FS.Read || c.FS.Write == nil || *c.FS.Write || c.Terminal != nil || p.ClientInfo.Name != "packetbench" {
		e.violation("initialize %s", raw)
	}
	if ms, _ := strconv.Atoi(e.switches["late"]); ms > 0 {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	sessions := object{}
	for _, name := range []string{"close", "list", "resume"} {
		if e.has(name) {
			sessions[name] = object{}
		}
	}
	agent := object{"loadSession": e.has("load"), "promptCapabilities": object{"image": e.has("images")}, "sessionCapabilities": sessions}
	name := "fake-engine"
	switch {
	case e.has("packetcode"):
		name = "packetcode"
		agent["_packetcode"] = object{
			"permissionModes": []string{"ask", "read-only"}, "defaultPermissionMode": "ask",
			"sessionsUsage": true, "modelsList": true, "sessionsList": true, "sessionsRename": true, "mcpDefaults": true,
		}
	case e.has("modes"), e.has("oldmodes"):
		name = "fake-claude"
	}
	version := 1
	if n, err := strconv.Atoi(e.switches["version"]); err == nil {
		version = n
	}
	e.initialized = true
	e.result(id, "initialize", object{"protocolVersion": version, "agentCapabilities": agent, "agentInfo": object{"name": name, "version": "1"}, "authMethods": []any{}})
}

// checkPlace judges the folder and the MCP servers of a session.
func (e *engine) checkPlace(method string, p params) {
	if !filepath.IsAbs(p.CWD) {
		e.violation("%s: cwd %q is not absolute", method, p.CWD)
	}
	if p.MCPServers == nil {
		if !e.has("packetcode") {
			e.violation("%s without mcpServers", method)
		}
		return
	}
	var servers []struct {
		Type, Name, Command string
		Args, Env           *[]any
	}
	if err := json.Unmarshal(*p.MCPServers, &servers); err != nil || string(*p.MCPServers) == "null" {
		e.violation("%s: mcpServers %s", method, *p.MCPServers)
	}
	for _, s := range servers {
		if s.Type != "stdio" || s.Name == "" || !filepath.IsAbs(s.Command) || s.Args == nil || s.Env == nil {
			e.violation("%s: mcpServers %s", method, *p.MCPServers)
		}
	}
}

func (e *engine) create(id json.RawMessage, p params) {
	const method = "session/new"
	e.checkPlace(method, p)
	if e.has("login") && !e.signed {
		e.failure(id, method, -32000, "Authentication required")
		return
	}
	if m := p.Own.PermissionMode; e.has("packetcode") && m != "" && m != "ask" && m != "read-only" {
		e.failure(id, method, -32602, "permission mode over the ceiling")
		return
	}
	e.made++
	s := &session{id: fmt.Sprintf("fake-%d-%d", os.Getpid(), e.made), mode: "default", model: "small"}
	if e.has("sameid") {
		s.id = "fake-same"
	}
	if p.Own.PermissionMode != "" {
		s.mode = p.Own.PermissionMode
	}
	if p.Own.Model != "" {
		s.model = p.Own.Model
	}
	e.sessions[s.id] = s
	e.keep(s)
	if e.has("first") {
		e.chunk(s.id, "too early")
	}
	e.result(id, method, e.described(s, object{"sessionId": s.id}))
	e.update(s.id, object{"sessionUpdate": "available_commands_update", "availableCommands": []any{object{"name": "review", "description": "Reviews", "input": nil}}})
}

// described adds what the session lets choose.
func (e *engine) described(s *session, m object) object {
	if e.has("modes") {
		m["configOptions"] = e.options(s)
	}
	if e.has("oldmodes") {
		m["modes"] = object{"currentModeId": s.mode, "availableModes": []any{object{"id": "default", "name": "Default"}, object{"id": "plan", "name": "Plan Mode"}}}
		m["models"] = object{"currentModelId": s.model, "availableModels": []any{object{"modelId": "small", "name": "Small"}, object{"modelId": "large", "name": "Large"}}}
	}
	return m
}

func (e *engine) options(s *session) []any {
	return []any{
		object{"id": "mode", "category": "mode", "type": "select", "currentValue": s.mode, "options": []any{object{"value": "default", "name": "Default"}, object{"value": "plan", "name": "Plan Mode"}}},
		object{"id": "model", "category": "model", "type": "select", "currentValue": s.model, "options": []any{object{"value": "small", "name": "Small"}, object{"value": "large", "name": "Large"}}},
	}
}

func (e *engine) load(id json.RawMessage, method string, p params) {
	e.checkPlace(method, p)
	if !e.has(strings.TrimPrefix(method, "session/")) {
		e.violation("%s was not offered", method)
	}
	s := e.find(p.SessionID)
	if s == nil {
		e.failure(id, method, -32002, "Resource not found: "+p.SessionID)
		return
	}
	if e.has("replay") {
		for _, text := range s.history {
			e.update(s.id, object{"sessionUpdate": "user_message_chunk", "content": object{"type": "text", "text": text}})
			e.update(s.id, object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "an old thought"}})
			e.update(s.id, object{"sessionUpdate": "tool_call", "toolCallId": "old", "title": "Old", "status": "completed"})
			e.chunk(s.id, "an old answer to "+text)
		}
	}
	if e.has("null") {
		e.result(id, method, nil)
		return
	}
	e.result(id, method, e.described(s, object{}))
}

// find returns a session of this process or of an earlier one.
func (e *engine) find(id string) *session {
	if s := e.sessions[id]; s != nil {
		e.mu.Lock()
		lost := s.lost
		e.mu.Unlock()
		if !lost {
			return s
		}
	}
	dir, ok := e.switches["store"]
	if !ok || id == "" || strings.ContainsAny(id, `/\.`) {
		return nil
	}
	raw, err := os.ReadFile(filepath.Join(dir, id))
	if err != nil {
		return nil
	}
	s := &session{id: id, mode: "default", model: "small"}
	for line := range strings.Lines(string(raw)) {
		s.history = append(s.history, strings.TrimSpace(line))
	}
	e.sessions[id] = s
	return s
}

func (e *engine) keep(s *session) {
	dir, ok := e.switches["store"]
	if !ok {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, s.id), []byte(strings.Join(s.history, "\n")), 0o600); err != nil {
		e.violation("store: %s", err)
	}
}

func (e *engine) prompt(id json.RawMessage, p params) {
	const method = "session/prompt"
	s := e.sessions[p.SessionID]
	if s == nil {
		e.failure(id, method, -32602, "unknown sessionId")
		return
	}
	if e.has("busy") {
		e.failure(id, method, -32000, "session already has an active prompt")
		return
	}
	e.mu.Lock()
	busy, lost := s.busy, s.lost
	s.busy, s.cancelled = !lost, make(chan struct{})
	e.mu.Unlock()
	if lost {
		delete(e.sessions, s.id)
		e.failure(id, method, -32602, "unknown sessionId")
		return
	}
	if busy {
		e.violation("a second prompt while one runs")
	}
	text := ""
	for _, b := range p.Prompt {
		switch {
		case b.Type == "text":
			text = b.Text
		case b.Type == "image" && e.has("images") && b.Data != "" && strings.HasPrefix(b.MIMEType, "image/"):
		default:
			e.violation("a prompt block of type %q", b.Type)
		}
	}
	if len(p.Prompt) == 0 {
		e.violation("an empty prompt")
	}
	s.history = append(s.history, text)
	e.keep(s)
	go e.turn(id, s, turn{s.id, s.mode, s.model, len(s.history), text, p.Prompt, s.cancelled})
}

var errScripted = errors.New("scripted failure")

// turn plays one turn and answers the prompt.
func (e *engine) turn(id json.RawMessage, s *session, t turn) {
	const method = "session/prompt"
	reason, err := e.script(t)
	lost := strings.HasPrefix(t.text, "lost")
	e.mu.Lock()
	s.busy, s.lost = false, lost
	s.input += 100
	s.output += 7
	usage := object{"contextTokens": 107, "totalInput": s.input, "totalOutput": s.output, "costUsd": 0}
	e.mu.Unlock()
	switch {
	case lost:
		e.failure(id, method, -32602, "unknown sessionId")
	case err != nil:
		e.failure(id, method, -32603, err.Error())
	case e.has("null"):
		e.result(id, method, nil)
	case e.has("packetcode") && reason == "end_turn":
		e.result(id, method, object{"stopReason": reason, "_packetcode": object{"usage": usage}})
	case e.has("packetcode"):
		e.result(id, method, object{"stopReason": reason})
	default:
		e.result(id, method, object{"stopReason": reason, "usage": object{"inputTokens": 100, "outputTokens": 7}})
	}
}

func (e *engine) script(t turn) (reason string, err error) {
	id := t.session
	word, rest, _ := strings.Cut(t.text, " ")
	n, _ := strconv.Atoi(rest)
	switch word {
	case "think":
		e.update(id, object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "let me see"}})
		e.chunk(id, "seen")
	case "tool", "early":
		return e.tool(t, "call-"+strconv.Itoa(t.n)), nil
	case "plan":
		e.update(id, object{"sessionUpdate": "plan", "entries": []any{object{"content": "look", "priority": "medium", "status": "in_progress"}, object{"content": "do", "status": nil}}})
		e.update(id, object{"sessionUpdate": "plan", "entries": []any{}})
	case "slow":
		e.chunk(id, "working")
		<-t.cancelled
		return "cancelled", nil
	case "stream":
		for range n {
			e.chunk(id, strconv.FormatInt(time.Now().UnixNano(), 10))
		}
	case "fail", "lost":
		return "", errScripted
	case "image":
		var types []string
		for _, b := range t.blocks {
			if b.Type == "image" {
				types = append(types, b.MIMEType)
			}
		}
		e.chunk(id, strings.Join(types, ","))
	case "unknown":
		answer := e.call("fs/read_text_file", object{"sessionId": id, "path": "/etc/hostname"}, false)
		e.chunk(id, string(answer))
	case "two":
		return e.tool(t, "call-two"), nil
	case "long":
		e.raw(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + id + `","update":{"sessionUpdate":"tool_call_update","toolCallId":"big","content":"` + strings.Repeat("x", n) + "\"}}}\n")
		e.chunk(id, "after the long line")
	case "endless":
		for some := strings.Repeat("x", 8<<20); ; {
			e.raw(some)
		}
	case "die":
		e.chunk(id, "about to")
		_, _ = fmt.Fprintln(e.log, "out of memory")
		e.leave(3)
	case "mode":
		e.chunk(id, t.mode+"/"+t.model)
	default:
		e.chunk(id, "hello ")
		e.chunk(id, "you")
	}
	return "end_turn", nil
}

// tool is one call that needs a permission.
func (e *engine) tool(t turn, id string) (reason string) {
	early := strings.HasPrefix(t.text, "early")
	call := object{"toolCallId": id, "title": "run", "kind": "execute", "status": "pending", "rawInput": object{"command": "echo hi"}}
	announce := object{"sessionUpdate": "tool_call"}
	for k, v := range call {
		announce[k] = v
	}
	options := []any{object{"optionId": "once", "name": "Once", "kind": "allow_once"}, object{"optionId": "always", "name": "Always", "kind": "allow_always"}, object{"optionId": "no", "name": "No", "kind": "reject_once"}}
	if e.has("lasting") {
		options = options[1:]
	}
	if !early {
		e.update(t.session, announce)
	}
	raw := e.call("session/request_permission", object{"sessionId": t.session, "toolCall": call, "options": options}, strings.HasPrefix(t.text, "two"))
	var answer struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		e.violation("permission: %s", raw)
	}
	o := answer.Outcome
	offered := slices.ContainsFunc(options, func(x any) bool { return x.(object)["optionId"] == o.OptionID })
	switch {
	case o.Outcome == "cancelled" && o.OptionID == "":
		return "cancelled"
	case o.Outcome != "selected" || !offered:
		e.violation("permission: %s", raw)
	}
	if early {
		e.update(t.session, announce)
	}
	status, text := "completed", "hi"
	if o.OptionID == "no" {
		status, text = "failed", "the user said no"
	}
	e.update(t.session, object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": []any{object{"type": "content", "content": object{"type": "text", "text": text}}}})
	e.chunk(t.session, "done")
	return "end_turn"
}

// extension answers the methods of packetcode and session/list.
func (e *engine) extension(id json.RawMessage, method string, p params) {
	own := e.has("packetcode")
	switch {
	case method == "session/list" && e.has("list"):
		// Two pages, so that a cursor is followed.
		if p.Cursor == "" {
			e.result(id, method, object{"sessions": []any{object{"sessionId": "held-1", "cwd": "/project", "title": "First"}}, "nextCursor": "2"})
		} else {
			e.result(id, method, object{"sessions": []any{object{"sessionId": "held-2", "cwd": "/project", "title": nil}}})
		}
	case own && method == "_packetcode/sessions/usage":
		s := e.sessions[p.SessionID]
		if s == nil {
			e.failure(id, method, -32602, "unknown sessionId")
			return
		}
		e.mu.Lock()
		usage := object{"contextTokens": 107, "totalInput": s.input, "totalOutput": s.output, "costUsd": 0}
		e.mu.Unlock()
		e.result(id, method, usage)
	case own && method == "_packetcode/models/list":
		e.result(id, method, object{"models": []any{object{"provider": "fake", "model": "small", "default": true}, object{"provider": "fake", "model": "large", "default": false}}})
	case own && method == "_packetcode/sessions/list":
		e.result(id, method, object{"sessions": []any{object{"sessionId": "held-1", "name": "first", "updatedAt": "2026-01-02T03:04:05Z", "provider": "fake", "model": "small", "messageCount": 3, "costUsd": 0.5}}})
	case own && method == "_packetcode/sessions/rename":
		e.result(id, method, object{})
	default:
		e.failure(id, method, -32601, "Method not found: "+method)
	}
}
