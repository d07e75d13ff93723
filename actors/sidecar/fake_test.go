//go:build unix

package sidecar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// fakePrefix begins the names of the scripts that make the test binary play a
// sidecar: it is started as "node" with one of them, like the real one.
const fakePrefix = "fake-"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if mode, ok := strings.CutPrefix(filepath.Base(os.Args[1]), fakePrefix); ok {
			(&fake{mode: mode, out: os.Stdout}).run()
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}

// fake is a sidecar whose turns say what their message tells them to: each line
// of it is a frame, with $S and $T for session and turn, or a directive.
// It writes every request down, in requests.jsonl of its working directory.
type fake struct {
	mode string
	out  *os.File
	log  *os.File
}

type fakeRequest struct {
	Type    string `json:"type"`
	Session string `json:"sessionId"`
	Turn    string `json:"turnId"`
	Content string `json:"content"`
	Initial string `json:"initialMessage"`
	Model   string `json:"model"`
}

func (f *fake) run() {
	version := `,"protocolVersion":11`
	switch f.mode {
	case "v10":
		version = `,"protocolVersion":10`
	case "v12":
		version = `,"protocolVersion":12`
	case "noversion":
		version = ""
	case "launcher":
		fmt.Fprintln(os.Stderr, "Error: Cannot find package 'zod' imported from dist/index.js")
		os.Exit(1)
	case "flood":
		f.write("ready\n")
		flood(f.out, "c-1", "t-1", floodLines)
		return
	case "silent":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
		return
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "stray":
		f.write("hello\n\n{\"type\":\n\xff\xfe\n")
	}
	var err error
	if f.log, err = os.OpenFile("requests.jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		panic(err)
	}
	f.write(fmt.Sprintf(`{"type":"ready","pid":%d,"version":"0.1.0"%s}`+"\n", os.Getpid(), version))
	if f.mode == "deaf" {
		time.Sleep(time.Hour)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			_, _ = f.log.Write(line)
			f.request(line)
		}
		if err != nil {
			break
		}
	}
	if f.mode == "stubborn" {
		time.Sleep(time.Hour)
	}
}

func (f *fake) write(s string) {
	if _, err := f.out.WriteString(s); err != nil {
		os.Exit(0)
	}
}

func (f *fake) request(line []byte) {
	var r fakeRequest
	if err := json.Unmarshal(line, &r); err != nil {
		fmt.Fprintln(os.Stderr, "fake: not a request")
		os.Exit(9)
	}
	say := func(format string, args ...any) {
		f.write(strings.NewReplacer("$S", r.Session, "$T", r.Turn).Replace(fmt.Sprintf(format, args...)) + "\n")
	}
	switch r.Type {
	case "start_session":
		f.turn(r, r.Initial)
	case "send_message":
		f.turn(r, r.Content)
	case "retry":
		if f.mode == "noretry" {
			say(`{"type":"error","sessionId":"$S","request":"retry","message":"No message to retry"}`)
			return
		}
		say(`{"type":"chunk","sessionId":"$S","turnId":"$T","text":"again"}`)
		say(`{"type":"done","sessionId":"$S","turnId":"$T"}`)
	case "set_model":
		if r.Model == "bad" {
			say(`{"type":"error","sessionId":"$S","request":"set_model","message":"setModel failed: no such model"}`)
		}
	case "cancel", "close_session", "set_permission_mode", "set_approve_writes", "cancel_pending_tools", "permission_response", "edit_response":
	default:
		if f.mode != "old" {
			say(`{"type":"error","sessionId":"$S","request":%q,"message":"Unknown request type: %s"}`, r.Type, r.Type)
		}
	}
}

func (f *fake) turn(r fakeRequest, script string) {
	for line := range strings.Lines(script) {
		line = strings.NewReplacer("$S", r.Session, "$T", r.Turn).Replace(strings.TrimSuffix(line, "\n"))
		directive, arg, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(arg)
		switch directive {
		case "!exit":
			os.Exit(n)
		case "!stderr":
			fmt.Fprintln(os.Stderr, arg)
		case "!kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case "!freeze": // What a stopped process looks like: alive and deaf.
			f.write(chunk(r.Session, r.Turn, "frozen"))
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		case "!spawn": // A grandchild that holds stdout, as a vendor's child does.
			cmd := exec.Command("sleep", "300")
			cmd.Stdout = os.Stdout
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			f.write(chunk(r.Session, r.Turn, strconv.Itoa(cmd.Process.Pid)))
		case "!long": // One frame with n bytes of text.
			f.write(chunk(r.Session, r.Turn, strings.Repeat("x", n)))
		case "!slow": // The same in single bytes.
			for _, b := range []byte(chunk(r.Session, r.Turn, strings.Repeat("x", n))) {
				f.write(string(b))
			}
		case "!endless":
			block := bytes.Repeat([]byte("x"), 1<<20)
			for {
				f.write(string(block))
			}
		case "!flood":
			flood(f.out, r.Session, r.Turn, n)
		case "!open": // The last line, without its end.
			f.write(arg)
			os.Exit(0)
		default:
			f.write(line + "\n")
		}
	}
}

func chunk(session, turn, text string) string {
	return fmt.Sprintf(`{"type":"chunk","sessionId":%q,"turnId":%q,"text":%q}`+"\n", session, turn, text)
}

// flood writes n chunks as fast as a pipe takes them.
func flood(w io.Writer, session, turn string, n int) {
	b := bufio.NewWriterSize(w, 64<<10)
	line := chunk(session, turn, "%")
	before, after, _ := strings.Cut(line, "%")
	for i := range n {
		_, _ = b.WriteString(before)
		_, _ = b.WriteString(strconv.Itoa(i))
		_, _ = b.WriteString(after)
	}
	_ = b.Flush()
}

// The usual lines of a script.
const (
	sayDone = `{"type":"done","sessionId":"$S","turnId":"$T","inputTokens":1,"outputTokens":2}`
	sayHi   = `{"type":"chunk","sessionId":"$S","turnId":"$T","text":"hi"}`
)

func script(lines ...string) string { return strings.Join(lines, "\n") }
