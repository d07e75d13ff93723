package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/packetbench/packetbench/contract"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line, id, method string
		kind             frameKind
		err              string
	}{
		{line: `{"jsonrpc":"2.0","id":1,"result":{}}`, id: "1", kind: frameResponse},
		{line: `{"id":1,"result":null}`, id: "1", kind: frameResponse},
		{line: `{"id":1}`, id: "1", kind: frameResponse},
		{line: `{"id":null,"error":{"code":-32700,"message":"Parse error"}}`, id: "null", kind: frameResponse, err: "Parse error"},
		{line: `{"id":1,"error":null,"result":{}}`, id: "1", kind: frameResponse},
		{line: `{"id":1,"error":{"code":-32603,"message":"Internal error","data":{"details":"Session not found"}}}`, id: "1", kind: frameResponse, err: "Internal error: Session not found"},
		{line: `{"id":1,"error":{"code":400,"message":null}}`, id: "1", kind: frameResponse, err: "error 400"},
		{line: `{"id":1,"error":"oh"}`, id: "1", kind: frameResponse, err: "oh"},
		{line: `{"id":1,"error":{"code":"x","message":"m","data":[]}}`, id: "1", kind: frameResponse, err: "m"},
		{line: ` {"method":"session/update","params":{}} ` + "\r", method: "session/update", kind: frameNotification},
		{line: `{"id":0,"method":"m","params":{}}`, id: "0", method: "m", kind: frameRequest},
		{line: `{"id":"packetcode-permission-1","method":"m"}`, id: `"packetcode-permission-1"`, method: "m", kind: frameRequest},
		{line: `{"id":"a\u003cb","method":"m"}`, id: `"a\u003cb"`, method: "m", kind: frameRequest},
		{line: `{"id":1.50e1,"method":"m"}`, id: `1.50e1`, method: "m", kind: frameRequest},
		{line: `{"id":[1, 2],"method":"m"}`, id: `[1, 2]`, method: "m", kind: frameRequest},
		{line: `{"id":null,"method":"m"}`, id: `null`, method: "m", kind: frameRequest},
	} {
		f, err := decode([]byte(tc.line))
		if err != nil || f.kind != tc.kind || string(f.id) != tc.id || f.method != tc.method {
			t.Errorf("decode(%s) = %+v, %v", tc.line, f, err)
			continue
		}
		if got := ""; f.err != nil {
			if got = f.err.text(); got != tc.err {
				t.Errorf("decode(%s): error %q", tc.line, got)
			}
		} else if tc.err != "" {
			t.Errorf("decode(%s): no error", tc.line)
		}
	}
}

// F70: a stray line is no frame and no reason to give the engine up.
func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "hello", "[]", "null", "1", `{}`, `{"jsonrpc":"2.0"}`, `{"method":1}`, `{"method":"","params":{}}`, `{"id":1,`, `{"id":1}{"id":2}`, `[{"id":1,"result":{}}]`} {
		if f, err := decode([]byte(line)); !errors.Is(err, errNotFrame) {
			t.Errorf("decode(%q) = %+v, %v", line, f, err)
		}
	}
}

// F01: what is not UTF-8 is replaced before anything of it is published.
func TestDecode_InvalidUTF8(t *testing.T) {
	t.Parallel()
	f, err := decode([]byte("{\"method\":\"m\",\"params\":{\"text\":\"a\xffb\"}}"))
	if err != nil || str(object(f.params)["text"]) != "a\uFFFDb" {
		t.Errorf("%+v, %v", f, err)
	}
}

// acp.md 12.2: an id is echoed byte for byte.
func TestEncode_EchoesIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`0`, `"0"`, `"a\u003cb"`, `1.50e1`, `[1, 2]`, `null`, `"<&>"`} {
		line, err := encodeResult(json.RawMessage(id), outcome("allow"))
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`
		if err != nil || string(line) != want {
			t.Errorf("got %s, %v", line, err)
		}
		line, err = encodeFailure(json.RawMessage(id), contract.CodeNoMethod, "Method not found: x")
		want = `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found: x"}}`
		if err != nil || string(line) != want {
			t.Errorf("got %s, %v", line, err)
		}
	}
	line, err := encodeResult(json.RawMessage(`1`), outcome(""))
	if want := `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}`; err != nil || string(line) != want {
		t.Errorf("got %s, %v", line, err)
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]uint64{"1": 1, "42": 42, "0": 0, "-1": 0, "1.0": 0, "1e3": 0, `"1"`: 0, "null": 0, "": 0, "99999999999999999999": 0} {
		if got, ok := ours(json.RawMessage(id)); got != want && ok || ok != (want > 0) {
			t.Errorf("ours(%s) = %d, %v", id, got, ok)
		}
	}
}

// F66: of a line that is dropped its beginning says whose it was.
func TestHead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cut, id string
		kind    frameKind
		ok      bool
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"a":"xxx`, "7", frameResponse, true},
		{`{"id":7,"jsonrpc":"2.0","error":{"message":"xxx`, "7", frameResponse, true},
		{`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"a":"xxx`, "0", frameRequest, true},
		{`{"id":"p-1","jsonrpc":"2.0","method":"session/request_permission","params":{`, `"p-1"`, frameRequest, true},
		{`{"jsonrpc":"2.0","method":"session/update","params":{"id":7,"result":"x`, "", 0, false},
		{`{"jsonrpc":"2.0","result":{"id":7,"x`, "", 0, false},
		{`{"jsonrpc":"2.0","id":7,"params":{"x`, "", 0, false},
		{`xxxx`, "", 0, false},
		{``, "", 0, false},
	} {
		f, ok := head([]byte(tc.cut))
		if ok != tc.ok || ok && (f.kind != tc.kind || string(f.id) != tc.id) {
			t.Errorf("head(%s) = %+v, %v", tc.cut, f, ok)
		}
	}
}

// lines of every recording, as the engine wrote them.
func lines(tb testing.TB) (out []json.RawMessage) {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.ndjson"))
	if err != nil || len(paths) == 0 {
		tb.Fatal("no recordings", err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		scan := bufio.NewScanner(bytes.NewReader(raw))
		scan.Buffer(nil, 1<<22)
		for scan.Scan() {
			var l recorded
			if json.Unmarshal(scan.Bytes(), &l) == nil && l.Dir == "agent->client" && l.Msg != nil {
				out = append(out, l.Msg)
			}
		}
	}
	return out
}

func FuzzDecode(f *testing.F) {
	for _, l := range lines(f) {
		f.Add([]byte(l))
	}
	f.Add([]byte(`{"id":"\ud800","method":"m"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		fr, err := decode(line)
		if err != nil {
			if !errors.Is(err, errNotFrame) {
				t.Fatal(err)
			}
			return
		}
		if fr.kind != frameRequest {
			return
		}
		// What is echoed is a frame again, with the same id.
		reply, err := encodeFailure(fr.id, contract.CodeNoMethod, "x")
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(reply)
		if err != nil || !bytes.Equal(back.id, fr.id) || !utf8.Valid(reply) {
			t.Fatalf("%s: %v", reply, err)
		}
		head(line[:min(len(line), 64)])
	})
}

func FuzzHead(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"a":"xxx`))
	f.Add([]byte(`{"id":"p-1","method":"session/request_permission","params":{`))
	f.Fuzz(func(t *testing.T, cut []byte) {
		if fr, ok := head(cut); ok && len(fr.id) == 0 {
			t.Fatalf("%q has no id", cut)
		}
	})
}

// No line of an engine may bring the core down or leave a turn without an end.
func FuzzEngine(f *testing.F) {
	for i, l := range lines(f) {
		if i%7 == 0 {
			f.Add([]byte(l), []byte(`{"id":3,"result":{"stopReason":"end_turn"}}`))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		r := newRig(t, Spec{Name: "x", Default: true})
		r.start(`{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{},"resume":{}}}}`)
		r.begin("c-1", "t-1")
		r.answerTo(methodNew, `{"sessionId":"s"}`)
		for _, l := range [][]byte{a, b} {
			for part := range strings.SplitSeq(string(l), "\n") {
				r.line(part)
			}
		}
		r.do(exited{})
		ends := 0
		for _, ev := range r.events("c-1") {
			if payload, err := contract.Encode(ev); err != nil || !utf8.Valid(payload) {
				t.Fatalf("%s %q %v", ev.Kind(), payload, err)
			}
			if ends > 0 {
				t.Fatalf("%s after the end", ev.Kind())
			}
			if ev.Kind().Terminal() {
				ends++
			}
		}
		if ends += len(pick[refused](r.all)); ends != 1 {
			t.Fatalf("%d ends", ends)
		}
	})
}
