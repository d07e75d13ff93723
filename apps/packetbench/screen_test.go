//go:build (integration || bench) && linux

package main

import (
	"bytes"
	"context"
	be "encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/contract"
)

// screen is a client of one terminal's stream.
type screen struct {
	t    testing.TB
	conn *websocket.Conn
	// text is what was painted since the last snapshot, that included.
	text bytes.Buffer
	// next is the offset behind the last byte, acked what was acknowledged.
	next, acked uint64
	// live counts bytes of output, snapshots the fresh starts.
	live      int
	snapshots int
	cols      int
	rows      int
	exit      *int32
	// said is the last text frame.
	said string
}

func (p *proc) screen(t testing.TB, id, token string) *screen {
	t.Helper()
	s, err := p.tryScreen(t, id, token)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p *proc) tryScreen(t testing.TB, id, token string) (*screen, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, p.run.URL+"/ws/terminal/"+id, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("status %d", resp.StatusCode)
		}
		return nil, err
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &screen{t: t, conn: conn}, nil
}

func (s *screen) send(frame []byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageBinary, frame); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) keys(text string) { s.t.Helper(); s.send(append([]byte{0x00}, text...)) }

func (s *screen) resize(cols, rows int) {
	s.t.Helper()
	s.send([]byte{0x01, byte(cols >> 8), byte(cols), byte(rows >> 8), byte(rows)})
}

// read takes one frame and acknowledges output.
func (s *screen) read(ctx context.Context) error {
	kind, b, err := s.conn.Read(ctx)
	if err != nil {
		return err
	}
	if kind == websocket.MessageText {
		s.said = string(b)
		return nil
	}
	switch b[0] {
	case 0x10:
		at := be.BigEndian.Uint64(b[1:])
		if at != s.next {
			return fmt.Errorf("output at %d, expected %d", at, s.next)
		}
		s.text.Write(b[9:])
		s.live += len(b) - 9
		s.next += uint64(len(b) - 9)
		if s.next-s.acked >= 64<<10 {
			s.acked = s.next
			s.send(be.BigEndian.AppendUint64([]byte{0x02}, s.next))
		}
	case 0x11:
		s.next, s.acked = be.BigEndian.Uint64(b[1:]), 0
		s.snapshots++
		s.text.Reset()
		s.text.Write(b[9:])
	case 0x12:
		code := int32(be.BigEndian.Uint32(b[1:]))
		s.exit = &code
	case 0x13:
		s.cols, s.rows = int(be.BigEndian.Uint16(b[1:])), int(be.BigEndian.Uint16(b[3:]))
	default:
		return fmt.Errorf("frame of type 0x%02x", b[0])
	}
	return nil
}

// until reads until ok, and fails the test after its patience.
func (s *screen) until(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !ok() {
		if err := s.read(ctx); err != nil {
			tail := s.text.Bytes()
			s.t.Fatalf("waiting for %s: %v; the screen ends with %q", what, err, tail[max(0, len(tail)-300):])
		}
	}
}

func (s *screen) shows(part string) {
	s.t.Helper()
	s.until(strconv.Quote(part), func() bool { return bytes.Contains(s.text.Bytes(), []byte(part)) })
}

func (s *screen) exits() int32 {
	s.t.Helper()
	s.until("the exit", func() bool { return s.exit != nil })
	return *s.exit
}

// shellIn opens a shell that reads no profile, so that its prompt is known.
func (w *window) shellIn(dir string, args ...string) contract.TerminalID {
	w.t.Helper()
	if args == nil {
		args = []string{"--norc", "--noprofile", "--noediting"}
	}
	var opened contract.OpenTerminalResult
	w.must(contract.MethodOpenTerminal, contract.OpenTerminalParams{
		Command: "bash", Args: args, Cwd: dir, Env: map[string]string{"PS1": "ready> ", "HISTFILE": "/dev/null", "LC_ALL": "C.UTF-8"}, Cols: 80, Rows: 24,
	}, &opened)
	return opened.TerminalID
}
