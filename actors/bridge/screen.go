package bridge

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// The first bytes of a client's frames that matter to the door. Source:
// interface.md 5.
const frameAck = 0x02

// typedMost is how many bytes of input may wait for a program that does not
// read; beyond it the client's socket is not read either. It holds the largest
// frame.
const typedMost = 16 << 20

// screen is one view of a terminal on a WebSocket. Frames of the terminal are
// passed on as they are; what they mean is decided by the terminal's actor.
type screen struct {
	s    *session
	conn *websocket.Conn
	view msg.TerminalView
	wake chan struct{}
	// refused has room for one word to a client that may not write.
	refused chan struct{}

	mu sync.Mutex
	// typed are frames that wait for the program, bytes how much that is.
	typed [][]byte
	bytes int
	more  *sync.Cond
}

// serveTerminal lets a client look at a terminal: GET /ws/terminal/<id>. An
// unknown one is 404, before the upgrade.
func (d *doors) serveTerminal(w http.ResponseWriter, r *http.Request, role contract.Client) {
	id := contract.TerminalID(r.PathValue("id"))
	if validTerminal(id) != nil {
		http.Error(w, noTerminal(id).Message, http.StatusNotFound)
		return
	}
	wake := make(chan struct{}, 1)
	reply, failure := d.terminal(id, msg.AttachTerminal{Write: role == contract.ClientOwner, Wake: wake}, quick)
	attached, ok := reply.(msg.TerminalAttached)
	if failure == nil && ok {
		failure = attached.Failure
	}
	if failure != nil || !ok {
		if failure == nil {
			failure = d.internal("terminal answered strangely", "terminal", string(id), "type", typeName(reply))
		}
		http.Error(w, failure.Message, httpStatus(failure))
		return
	}
	defer attached.View.Close()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // Accept has answered.
	}
	s := d.newSession(role, "terminal:"+string(id), r.RemoteAddr)
	sc := &screen{s: s, conn: conn, view: attached.View, wake: wake, refused: make(chan struct{}, 1)}
	sc.more = sync.NewCond(&sc.mu)
	d.host(s, sc.run, func(text string) {
		_ = conn.Close(websocket.StatusTryAgainLater, text[:min(len(text), 120)]) // RFC 6455 5.5: 125 bytes with the code.
	})
	_ = conn.CloseNow()
}

func httpStatus(f *contract.Failure) int {
	switch f.Code {
	case contract.CodeNotFound:
		return http.StatusNotFound
	case contract.CodeConflict:
		return http.StatusConflict
	case contract.CodeOverLimit:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// run serves the connection to its end.
func (c *screen) run() {
	s := c.s
	defer s.finish()
	c.conn.SetReadLimit(s.d.frameMost)
	s.spawn("upkeep", c.upkeep)
	s.spawn("typing", c.typing)
	s.work.Go(func() {
		s.safely("writer", func() { s.cancel(c.write()) })
		code, reason := farewell(context.Cause(s.ctx))
		_ = c.conn.Close(code, reason) // Ends the reader.
	})
	s.safely("reader", c.read)
	// Until the farewell is through the peer may still be sending.
	for _, _, err := c.conn.Read(s.hard); err == nil; _, _, err = c.conn.Read(s.hard) {
	}
	c.mu.Lock()
	c.more.Broadcast()
	c.mu.Unlock()
	s.work.Wait()
	_ = c.conn.CloseNow()
	s.kill()
}

// errFrame ends a connection whose peer does not speak the protocol.
var errFrame = errors.New("a frame is none of a terminal's")

// farewell is the close code and reason for why a connection ends.
func farewell(cause error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(cause, errStopping):
		return closeStopping, cause.Error()
	case errors.Is(cause, errRestart):
		return websocket.StatusServiceRestart, cause.Error()
	case errors.Is(cause, errFault):
		return websocket.StatusInternalError, cause.Error()
	case errors.Is(cause, errFrame):
		return websocket.StatusUnsupportedData, cause.Error()
	}
	return websocket.StatusNormalClosure, ""
}

// read takes frames of the client. Acknowledgements pass what waits for the
// program, which may itself be waiting for them.
func (c *screen) read() {
	s := c.s
	stop := context.AfterFunc(s.ctx, func() { c.mu.Lock(); c.more.Broadcast(); c.mu.Unlock() })
	defer stop()
	for {
		kind, frame, err := c.conn.Read(s.hard)
		switch {
		case err != nil:
			s.cancel(err)
			return
		case s.ctx.Err() != nil:
			return
		case kind != websocket.MessageBinary:
			s.cancel(errFrame)
			return
		case len(frame) > 0 && frame[0] == frameAck:
			if !c.take(frame) {
				return
			}
			continue
		}
		c.mu.Lock()
		if c.bytes == 0 && c.view.Room(len(frame)) {
			// A key, usually: nothing waits, so it need not wake anybody else.
			c.mu.Unlock()
			if !c.take(frame) {
				return
			}
			continue
		}
		for c.bytes > 0 && c.bytes+len(frame) > typedMost && s.ctx.Err() == nil {
			c.more.Wait()
		}
		c.typed = append(c.typed, frame)
		c.bytes += len(frame)
		c.more.Broadcast()
		c.mu.Unlock()
	}
}

// typing hands the client's input to the program, as it reads.
func (c *screen) typing() {
	for {
		c.mu.Lock()
		for len(c.typed) == 0 && c.s.ctx.Err() == nil {
			c.more.Wait()
		}
		if c.s.ctx.Err() != nil {
			c.mu.Unlock()
			return
		}
		frame := c.typed[0]
		c.typed = c.typed[1:]
		c.mu.Unlock()
		ok := c.take(frame)
		c.mu.Lock()
		c.bytes -= len(frame)
		c.more.Broadcast()
		c.mu.Unlock()
		if !ok {
			return
		}
	}
}

// take hands one frame to the terminal; false ends the connection.
func (c *screen) take(frame []byte) bool {
	err := c.view.Take(c.s.ctx, frame)
	switch {
	case err == nil:
		return true
	case errors.Is(err, msg.ErrTerminalReadOnly):
		select {
		case c.refused <- struct{}{}:
		default:
		}
		return true
	case errors.Is(err, msg.ErrTerminalFrame):
		c.s.cancel(errFrame)
	default:
		c.s.cancel(err)
	}
	return false
}

// refusalFrame is what a monitor hears that types. It is a text frame: the
// binary ones are the terminal's.
var refusalFrame = func() []byte {
	body, err := contract.Marshal(struct {
		Error *contract.Failure `json:"error"`
	}{contract.Fail(contract.CodeForbidden, "%s", contract.TextMonitor)})
	if err != nil {
		panic(err) // A constant.
	}
	return body
}()

// write is the one writer of the connection. It returns why it ended; nil when
// the terminal is gone and everything of it was sent.
func (c *screen) write() error {
	s := c.s
	var buf []byte
	over := false
	for {
		for s.ctx.Err() == nil {
			frame := c.view.Frame(buf)
			if frame == nil {
				break
			}
			buf = frame
			if err := c.send(websocket.MessageBinary, frame); err != nil {
				return err
			}
			if cap(buf) > 4*frameBytes {
				buf = nil // A snapshot must not stay.
			}
		}
		if over {
			return nil
		}
		select {
		case <-c.wake:
		case <-c.refused:
			if err := c.send(websocket.MessageText, refusalFrame); err != nil {
				return err
			}
		case <-c.view.Gone():
			over = true // What is left comes first.
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
	}
}

func (c *screen) send(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(c.s.hard, c.s.d.pace.write)
	defer cancel()
	return c.conn.Write(ctx, kind, frame)
}

// upkeep finds a peer that is gone without a word. While the program does not
// read, we do not either, and see no answer to a ping.
func (c *screen) upkeep() {
	ping := time.NewTicker(c.s.d.pace.ping)
	defer ping.Stop()
	for {
		select {
		case <-c.s.ctx.Done():
			return
		case <-ping.C:
		}
		ctx, cancel := context.WithTimeout(c.s.hard, c.s.d.pace.write)
		err := c.conn.Ping(ctx)
		cancel()
		c.mu.Lock()
		full := c.bytes >= typedMost/2
		c.mu.Unlock()
		if err != nil && !full {
			c.s.cancel(err)
			return
		}
	}
}
