package sidecar

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

var update = flag.Bool("update", false, "write the golden files")

// Every line of testdata/frames.ndjson, one of each event and of each odd form
// that sidecar-protocol.md allows, against what a window would hear.
func TestTranslate_Golden(t *testing.T) {
	t.Parallel()
	lines, err := os.ReadFile(filepath.Join("testdata", "frames.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(lines)) {
		f, err := decode([]byte(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s := translate(f)
		for _, e := range s.events {
			payload, err := contract.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			got.WriteString(string(e.Kind()) + " " + string(payload) + "\n")
		}
		switch {
		case s.ask != nil:
			got.WriteString("ask " + s.ask.id + " " + s.ask.name + " " + s.ask.arguments + "\n")
		case s.edit != nil:
			got.WriteString("edit " + s.edit.id + " " + s.edit.path + " " + s.edit.content + "\n")
		case s.failed != "":
			got.WriteString("failed " + s.failed + ": " + s.text + "\n")
		case s.ignored != "":
			got.WriteString("ignored: " + s.ignored + "\n")
		}
	}
	golden := filepath.Join("testdata", "frames.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// F70: a stray line is no frame and no reason to give the child up.
func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "hello", "[]", "null", `{"type":""}`, `{"type":1}`, "{", "{\"type\":\"chunk\",\"text\":\"\xff\"}"} {
		if _, err := decode([]byte(line)); !errors.Is(err, errNotFrame) {
			t.Errorf("decode(%q): %v", line, err)
		}
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	n := func(v int) *int { return &v }
	for _, tc := range []struct {
		version *int
		warns   bool
		refused string
	}{
		{n(11), false, ""},
		{n(12), true, ""},
		{n(10), false, "speaks protocol 10, PacketBench needs 11 or newer"},
		{nil, false, "speaks protocol none"},
	} {
		warning, err := negotiate(tc.version)
		if (warning != "") != tc.warns || (err != nil) != (tc.refused != "") {
			t.Errorf("negotiate(%v) = %q, %v", tc.version, warning, err)
		}
		if err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("text %q", err)
		}
	}
}

func TestSessionOf(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{
		`{"type":"chunk","sessionId":"c-1","text":"xxxx`: "c-1",
		`{"type":"chunk","sessionId" : "c_2"`:            "c_2",
		`{"type":"chunk","text":"`:                       "",
		`{"sessionId":"a.b"`:                             "",
		`{"sessionId":5`:                                 "",
	} {
		if got, ok := sessionOf([]byte(head)); string(got) != want || ok != (want != "") {
			t.Errorf("sessionOf(%s) = %q, %v", head, got, ok)
		}
	}
}

func FuzzDecodeTranslate(f *testing.F) {
	lines, err := os.ReadFile(filepath.Join("testdata", "frames.ndjson"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		fr, err := decode(line)
		if err != nil {
			if !errors.Is(err, errNotFrame) {
				t.Fatal(err)
			}
			return
		}
		for _, e := range translate(fr).events {
			payload, err := contract.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := contract.Decode(e.Kind(), payload); err != nil {
				t.Fatalf("%s %s: %v", e.Kind(), payload, err)
			}
		}
	})
}

// FuzzDelta: what the short way reads, the general one reads alike.
func FuzzDelta(f *testing.F) {
	for _, line := range []string{
		`{"type":"chunk","text":"hi","sessionId":"c-1","turnId":"t-1"}`,
		`{"type":"chunk","sessionId":"c","text":"a\n\u00e9\ud83d\ude00 \"q\""}`,
		`{"type":"thinking","text":"","sessionId":"c"}`,
		`{"type":"chunk","text":"a","text":"b"}`,
		`{"type":"chunk","text":"\ud800"}`,
		`{"type":"chunk","text":null}`, `{"type":"done"}`, `{}`, `{"type":"chunk"`, `{"type":"chunk",}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		short, ok := delta(line)
		if !ok {
			return
		}
		long, err := decodeAny(line)
		if err != nil || !reflect.DeepEqual(short, long) {
			t.Fatalf("%q: %+v, %+v, %v", line, short, long, err)
		}
	})
}
