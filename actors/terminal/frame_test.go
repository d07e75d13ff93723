package terminal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
)

// TestFrame: the bytes of interface.md 5.
func TestFrame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		frame any
		hex   string
	}{
		{input("hi"), "006869"},
		{input(""), "00"},
		{ack(1 << 33), "020000000200000000"},
		{output{258, []byte("x")}, "10000000000000010278"},
		{snapshot{1, []byte("\x1bc")}, "1100000000000000011b63"},
		{exit(-1), "12ffffffff"},
		{exit(137), "1200000089"},
		{size{300, 50}, "13012c0032"},
	} {
		if got := hex.EncodeToString(appendFrame(nil, tc.frame)); got != tc.hex {
			t.Errorf("%#v is %s, want %s", tc.frame, got, tc.hex)
		}
	}
	got, err := decodeClient([]byte{0x01, 1, 44, 0, 50})
	if err != nil || got != any(size{300, 50}) {
		t.Errorf("a size is read as %v, %v", got, err)
	}
	for _, bad := range []string{"", "01", "01012c00", "01012c003200", "02", "0200000000000000", "10", "13012c0032", "ff"} {
		b, _ := hex.DecodeString(bad)
		if got, err := decodeClient(b); !errors.Is(err, msg.ErrTerminalFrame) {
			t.Errorf("%q is read as %v, %v", bad, got, err)
		}
	}
}

// FuzzDecodeClient: what is decoded is encoded to the same bytes.
func FuzzDecodeClient(f *testing.F) {
	for _, s := range []string{"\x00hi", "\x00", "\x01\x00\x50\x00\x18", "\x02\x00\x00\x00\x00\x00\x00\x00\x09", "\x10"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeClient(b)
		if err != nil {
			if !errors.Is(err, msg.ErrTerminalFrame) {
				t.Fatal(err)
			}
			return
		}
		again := appendFrame(nil, got)
		if s, ok := got.(size); ok {
			again = appendSize([]byte{frameResize}, s)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%x is encoded again as %x", b, again)
		}
	})
}

// FuzzDecodeServer: the same for what the service sends.
func FuzzDecodeServer(f *testing.F) {
	for _, frame := range []any{output{9, []byte("x")}, snapshot{1, []byte("y")}, exit(3), size{80, 24}} {
		f.Add(appendFrame(nil, frame))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeServer(b)
		if err == nil && !bytes.Equal(appendFrame(nil, got), b) {
			t.Fatalf("%x is encoded again as %x", b, appendFrame(nil, got))
		}
	})
}

// TestCutRune: what is held back until it is whole (F02).
func TestCutRune(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"": 0, "a": 0, "a\xc3": 1, "\xc3\xa9": 0, "\xe2": 1, "x\xe2\x80": 2, "\xe2\x80\x94": 0, "\xf0\x9f\x98": 3,
		"\xf0\x9f\x98\x80": 0, "\x80": 0, "\x80\x80\x80": 0, "\xe2\x80\x94\xe2": 1,
	} {
		if got := cutRune([]byte(in)); got != want {
			t.Errorf("cutRune(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestIsReply(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"": false, "x": false, "\x1b": false, "\x1b[A": false, "\x1bOP": false, "\x1b[3~": false, "\x1b[1;5C": false, "\x1b[200~x\x1b[201~": false,
		"\x1b[I": true, "\x1b[O": true, "\x1b[I\x1b[O": true, "\x1b[Ix": false, "\x1b[?1;2c": true, "\x1b[>0;276;0c": true, "\x1b[0n": true,
		"\x1b[12;40R": true, "\x1b[?12;40R": true, "\x1b[?2004;1$y": true, "\x1b[8;24;80t": true, "\x1bP1$r0m\x1b\\": true, "\x1bP": false,
		"\x1b]10;rgb:ffff/ffff/ffff\x1b\\": true, "\x1b]11;rgb:0/0/0\x07": true, "\x1b]11;rgb:0/0/0": false, "\x1b[<0;3;4M": false, "\x1b[M !!": false,
	} {
		if got := isReply([]byte(in)); got != want {
			t.Errorf("isReply(%q) = %t", in, got)
		}
	}
}

// FuzzIsReply: no input fails.
func FuzzIsReply(f *testing.F) {
	f.Add([]byte("\x1b[?1;2c\x1b]10;x\x07\x1bPq\x1b\\\x1b[1;2R"))
	f.Fuzz(func(_ *testing.T, b []byte) { isReply(b) })
}
