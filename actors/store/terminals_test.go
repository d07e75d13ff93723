package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func screenOf(id string, at time.Time, snapshot string) msg.TerminalImage {
	code := msg.TerminalExit{Code: 3}
	return msg.TerminalImage{
		Info: msg.TerminalInfo{
			ID: contract.TerminalID(id), Command: "bash", Args: []string{"-l"}, Cwd: "/p", State: msg.TerminalEnded,
			Cols: 80, Rows: 24, Title: "a \"title\"", Exit: &code, Offset: 7, Started: at.Add(-time.Hour),
		},
		Snapshot: []byte(snapshot), At: at,
	}
}

// A last screen comes back as it was kept, also from the next start (F24).
func TestImages(t *testing.T) {
	t.Parallel()
	p := home(t)
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	r := start(t, Options{Paths: p})
	if got := ask[[]msg.TerminalInfo](r, msg.ListTerminalImages{}); len(got) != 0 {
		t.Fatalf("of nothing: %+v", got)
	}
	one, two := screenOf("t-1", at, "\x1b[2Jone\xff"), screenOf("t-2", at.Add(time.Minute), "")
	for _, i := range []msg.TerminalImage{screenOf("t-1", at, "older"), one, two, screenOf("../up", at, "")} {
		must(t, r.node.Send(msg.Store, msg.SaveTerminalImage{Image: i}))
	}
	if got := ask[[]msg.TerminalInfo](r, msg.ListTerminalImages{}); !reflect.DeepEqual(got, []msg.TerminalInfo{two.Info, one.Info}) {
		t.Fatalf("listed %+v", got)
	}
	next := start(t, Options{Paths: p})
	if got := ask[msg.LoadedTerminalImage](next, msg.LoadTerminalImage{ID: "t-1"}); got.Image == nil || !reflect.DeepEqual(*got.Image, one) {
		t.Fatalf("loaded %+v", got.Image)
	}
	if got := ask[msg.LoadedTerminalImage](next, msg.LoadTerminalImage{ID: "t-9"}); got.Image != nil {
		t.Errorf("loaded what is not there: %+v", got.Image)
	}
	for range 2 { // Forgetting twice is no failure.
		if got := ask[msg.Done](next, msg.ForgetTerminalImage{ID: "t-1"}); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
	if got := ask[[]msg.TerminalInfo](next, msg.ListTerminalImages{}); len(got) != 1 || got[0].ID != "t-2" {
		t.Errorf("left %+v", got)
	}
}

// The oldest go when there are too many or they take too much; the newest stays
// whatever it takes.
func TestImages_Bounds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name  string
		most  int
		bytes int64
		want  []string
	}{
		{"number", 3, 1 << 20, []string{"t-4", "t-3", "t-2"}},
		{"bytes", 50, 900, []string{"t-4", "t-3"}},
		{"one alone", 50, 1, []string{"t-4"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			x := &images{paths: home(t), notes: &board{}, now: time.Now, most: tc.most, bytes: tc.bytes}
			for i := range 5 {
				must(t, x.save(screenOf(fmt.Sprintf("t-%d", i), at.Add(time.Duration(i)*time.Second), "x")))
			}
			var got []string
			for _, i := range x.all() {
				got = append(got, string(i.ID))
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("kept %v, want %v", got, tc.want)
			}
			files, err := os.ReadDir(x.paths.Terminals())
			if err != nil || len(files) != len(tc.want) {
				t.Errorf("%d files, %v", len(files), err)
			}
		})
	}
}

// A damaged file is set aside with a sentence and is in nobody's way.
func TestImages_Damaged(t *testing.T) {
	t.Parallel()
	good, err := encodeImage(screenOf("cut", time.Now(), "some text"))
	must(t, err)
	for name, content := range map[string][]byte{
		"empty": {}, "text": []byte("hello\n"), "other version": []byte(`{"version":9,"info":{"ID":"a"}}` + "\n"),
		"cut": good[:len(good)-4], "long line": bytes.Repeat([]byte("x"), maxImageHead+10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := home(t)
			must(t, os.MkdirAll(p.Terminals(), 0o700))
			must(t, os.WriteFile(filepath.Join(p.Terminals(), "cut"+imageSuffix), content, 0o600))
			x := &images{paths: p, notes: &board{}, now: time.Now, most: 5, bytes: 1 << 20}
			if got := x.load("cut"); got != nil {
				t.Errorf("loaded %+v", got)
			}
			if notes := x.notes.take(); len(notes) != 1 {
				t.Errorf("notes %q", notes)
			}
			if got := x.all(); len(got) != 0 {
				t.Errorf("listed %+v", got)
			}
		})
	}
}

func FuzzDecodeImage(f *testing.F) {
	seed, err := encodeImage(screenOf("t-1", time.Unix(5, 0).UTC(), "\x1b[31mred"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		i, err := decodeImage(bytes.NewReader(content))
		if err != nil {
			return
		}
		again, err := encodeImage(*i)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeImage(bytes.NewReader(again))
		if err != nil || !bytes.Equal(back.Snapshot, i.Snapshot) || back.Info.ID != i.Info.ID {
			t.Fatalf("%+v became %+v, %v", i, back, err)
		}
	})
}
