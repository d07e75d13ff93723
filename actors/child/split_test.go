package child

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func collect(t *testing.T, s *Splitter, pieces ...string) ([]Line, error) {
	t.Helper()
	var out []Line
	emit := func(l Line) { out = append(out, l) }
	for _, p := range pieces {
		if err := s.Feed([]byte(p), emit); err != nil {
			return out, err
		}
	}
	s.Flush(emit)
	return out, nil
}

// F66, F68, F70: long lines, pieces of any size, lines that are no frames.
func TestSplitter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		pieces []string
		want   []string // "!" marks a dropped line by its size
	}{
		{name: "one", pieces: []string{"a\n"}, want: []string{"a"}},
		{name: "several in one read", pieces: []string{"a\nb\n\nc\n"}, want: []string{"a", "b", "", "c"}},
		{name: "in single bytes", pieces: strings.Split("ab\ncd\n", ""), want: []string{"ab", "cd"}},
		{name: "carriage returns", pieces: []string{"a\r\nb\r", "\nc\rd\n\r\n"}, want: []string{"a", "b", "c\rd", ""}},
		{name: "no end", pieces: []string{"a\nb"}, want: []string{"a", "b"}},
		{name: "return at the end", pieces: []string{"a\r"}, want: []string{"a\r"}},
		{name: "nothing", pieces: []string{"", ""}, want: nil},
		{name: "at the limit", pieces: []string{"12345678\n12345678\r\n"}, want: []string{"12345678", "12345678"}},
		{name: "above the limit", pieces: []string{"123456789\nok\n"}, want: []string{"!9", "ok"}},
		{name: "above in pieces", pieces: []string{"12345", "6789", "0abcdef", "\nok\n"}, want: []string{"!16", "ok"}},
		{name: "above with return", pieces: []string{"123456789\r", "\nok\n"}, want: []string{"!9", "ok"}},
		{name: "above and no end", pieces: []string{"ok\n1234567890"}, want: []string{"ok", "!10"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines, err := collect(t, NewSplitter(8, 1000), tc.pieces...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lines {
				if l.Dropped {
					if l.Text != nil || len(l.Head) == 0 {
						t.Errorf("dropped line %+v", l)
					}
					got = append(got, "!"+itoa(l.Size))
					continue
				}
				if l.Size != int64(len(l.Text)) || l.Text == nil {
					t.Errorf("line %q has size %d", l.Text, l.Size)
				}
				got = append(got, string(l.Text))
			}
			if !slices.Equal(got, tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func itoa(n int64) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// F67: a line that never ends stays bounded and is given up with a typed error.
func TestSplitter_Endless(t *testing.T) {
	t.Parallel()
	s := NewSplitter(1<<10, 1<<20)
	piece := bytes.Repeat([]byte("x"), 64<<10)
	var err error
	for range 17 {
		if err = s.Feed(piece, func(Line) { t.Error("a line was made up") }); err != nil {
			break
		}
		if cap(s.held) > 64<<10 {
			t.Fatalf("holds %d bytes of a dropped line", cap(s.held))
		}
	}
	var endless *EndlessLineError
	if !errors.As(err, &endless) || endless.Limit != 1<<20 || endless.Size <= endless.Limit {
		t.Fatalf("got %v", err)
	}
}

// FuzzSplitter: the lines do not depend on how the stream was cut, and joined
// they are the stream again.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("hello\n{\"type\":\"ready\"}\n"), uint8(3), uint8(8))
	f.Add([]byte("a\r\nb\r\n\r\r\n"), uint8(1), uint8(0))
	f.Add([]byte("123456789\r\n12345678\n1234567\r"), uint8(2), uint8(8))
	f.Fuzz(func(t *testing.T, stream []byte, step, limit uint8) {
		whole, errWhole := collect(t, NewSplitter(int64(limit), 200), string(stream))
		n := int(step%17) + 1
		var pieces []string
		for p := stream; len(p) > 0; p = p[min(n, len(p)):] {
			pieces = append(pieces, string(p[:min(n, len(p))]))
		}
		cut, errCut := collect(t, NewSplitter(int64(limit), 200), pieces...)
		if (errWhole == nil) != (errCut == nil) {
			t.Fatalf("cutting changes the outcome: %v, %v", errWhole, errCut)
		}
		same := slices.EqualFunc(whole, cut, func(a, b Line) bool {
			return bytes.Equal(a.Text, b.Text) && bytes.Equal(a.Head, b.Head) && a.Dropped == b.Dropped && a.Size == b.Size
		})
		if errWhole == nil && !same {
			t.Fatalf("cutting changes the lines: %v, %v", whole, cut)
		}
		want := strings.Split(string(stream), "\n")
		for i, l := range whole {
			line := want[i]
			if i < len(want)-1 {
				line = strings.TrimSuffix(line, "\r")
			}
			if int64(len(line)) != l.Size || l.Dropped != (l.Size > int64(limit)) {
				t.Fatalf("line %d: %+v for %q", i, l, line)
			}
			if !l.Dropped && string(l.Text) != line || l.Dropped && !strings.HasPrefix(line+"\r", string(l.Head)) {
				t.Fatalf("line %d: %+v for %q", i, l, line)
			}
		}
	})
}

// F01, F02: a character that a read boundary cuts is passed on whole.
func TestRuneHold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		pieces []string
		want   []string // the last one is the flush
	}{
		{name: "dash in two reads", pieces: []string{"\xe2", "\x80\x94"}, want: []string{"", "\u2014", ""}},
		{name: "dash in three reads", pieces: []string{"a\xe2", "\x80", "\x94b"}, want: []string{"a", "", "\u2014b", ""}},
		{name: "emoji in four reads", pieces: []string{"\xf0", "\x9f", "\x98", "\x80"}, want: []string{"", "", "", "\U0001f600", ""}},
		{name: "never whole", pieces: []string{"a\xc3"}, want: []string{"a", "\xc3"}},
		{name: "invalid passes", pieces: []string{"\xff\xfe", "\x80\x80\x80\x80"}, want: []string{"\xff\xfe", "\x80\x80\x80\x80", ""}},
		{name: "broken by ASCII", pieces: []string{"\xe2", "x"}, want: []string{"", "\xe2x", ""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var h RuneHold
			var got []string
			for _, p := range tc.pieces {
				got = append(got, string(h.Push([]byte(p))))
			}
			got = append(got, string(h.Flush()))
			if !slices.Equal(got, tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// FuzzRuneHold: nothing is lost, nothing is changed, and a valid stream comes
// out in valid pieces.
func FuzzRuneHold(f *testing.F) {
	f.Add([]byte("a\u2014b\U0001f600"), uint8(1))
	f.Add([]byte("\xc3\xe2\x80\xf0\x9f"), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		n := int(step%5) + 1
		var h RuneHold
		var all []byte
		for p := stream; len(p) > 0; p = p[min(n, len(p)):] {
			out := h.Push(p[:min(n, len(p))])
			if utf8.Valid(stream) && !utf8.Valid(out) {
				t.Fatalf("%q came out of a valid stream", out)
			}
			if len(h.held) >= utf8.UTFMax {
				t.Fatalf("holds %q", h.held)
			}
			all = append(all, out...)
		}
		if all = append(all, h.Flush()...); !bytes.Equal(all, stream) {
			t.Fatalf("got %q, want %q", all, stream)
		}
	})
}

// F25: the tail is what an error shows of a child's last words.
func TestTail(t *testing.T) {
	t.Parallel()
	var tail Tail
	for range 1000 {
		_, _ = tail.Write([]byte("some earlier line\n"))
	}
	_, _ = tail.Write([]byte("the last line"))
	got := tail.String()
	if len(got) != TailBytes || !strings.HasSuffix(got, "\nthe last line") {
		t.Fatalf("got %d bytes, %q", len(got), got[max(0, len(got)-40):])
	}
	var wide Tail
	_, _ = wide.Write([]byte(strings.Repeat("\u2014", 1000)))
	if s := wide.String(); !utf8.ValidString(s) || len(s) != 1998 {
		t.Fatalf("%d bytes, valid %v", len(s), utf8.ValidString(s))
	}
	var short Tail
	_, _ = short.Write([]byte("no"))
	if short.String() != "no" {
		t.Fatalf("got %q", short.String())
	}
}

func TestMarker_Environ(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	got := Marker{BootID: "b-2", Home: home}.Environ([]string{
		"PATH=/bin", "A=x=y", EnvBootID + "=older", EnvHome + "=/elsewhere", EnvGroup + "=g", "broken", "=C:=C:\\", "Z=a\x00b",
	}, "new")
	want := []string{"PATH=/bin", "A=x=y", EnvBootID + "=b-2", EnvHome + "=" + CanonicalHome(home), EnvGroup + "=new"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

// A damaged record must never name a process that could be signalled by mistake.
func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"pid":12,"start":3,"machine":"m","command":"sleep 1"}`))
	f.Add([]byte(`{"pid":0}`))
	f.Add([]byte(`{"pid":-1,"start":1}`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := decodeRecord(b)
		if err == nil && (rec.PID < 1 || rec.PID > 1<<31-1) {
			t.Fatalf("accepted %+v", rec)
		}
	})
}
