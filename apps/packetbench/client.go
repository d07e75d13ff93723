package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/coder/websocket"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// errNoService says that nothing runs on this data directory.
var errNoService = errors.New("no PacketBench service runs for this data directory. Start one with: packetbench serve")

// findService reads run.json and checks that its process lives. It fails with
// errNoService when there is none.
func findService(g *Globals) (runFile, error) {
	paths, err := config.DataDir(g.Home, g.Getenv)
	if err != nil {
		return runFile{}, err
	}
	body, err := os.ReadFile(paths.Run())
	if errors.Is(err, os.ErrNotExist) {
		return runFile{}, errNoService
	}
	if err != nil {
		return runFile{}, fmt.Errorf("%s cannot be read: %w", paths.Run(), err)
	}
	var run runFile
	if err := json.Unmarshal(body, &run); err != nil {
		return runFile{}, fmt.Errorf("%s is damaged; restart the service", paths.Run())
	}
	start, err := child.StartOf(run.PID)
	if err != nil || !child.Alive(run.PID, start) {
		return runFile{}, errNoService
	}
	return run, nil
}

// client is one WebSocket to the service's JSON-RPC door. Calls may be made
// from several goroutines; events arrive on one channel, in order.
type client struct {
	conn *websocket.Conn
	// events carries the event and gap notifications; it is closed when the
	// connection ends, and then err says why.
	events chan notification

	mu      sync.Mutex
	next    int
	waiting map[string]chan contract.Response
	err     error
	cancel  context.CancelFunc
}

// notification is one event or gap notification.
type notification struct {
	Method string
	Events contract.EventsParams
	Gap    contract.GapParams
}

// dial opens a connection with a token of either role.
func dial(ctx context.Context, url, token string) (*client, error) {
	conn, resp, err := websocket.Dial(ctx, url+"/ws", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		if resp != nil && resp.StatusCode == http.StatusUnauthorized {
			return nil, errors.New("the service refused the token of run.json; restart the service")
		}
		return nil, fmt.Errorf("the service at %s does not answer: %w", url, err)
	}
	conn.SetReadLimit(-1) // Our own service; a transcript may be large.
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{conn: conn, events: make(chan notification, 256), waiting: map[string]chan contract.Response{}, cancel: cancel}
	go c.read(ctx)
	return c, nil
}

func (c *client) read(ctx context.Context) {
	var err error
	for {
		var frame []byte
		if _, frame, err = c.conn.Read(ctx); err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage   `json:"id"`
			Method string            `json:"method"`
			Params json.RawMessage   `json:"params"`
			Result json.RawMessage   `json:"result"`
			Error  *contract.Failure `json:"error"`
		}
		if err = json.Unmarshal(frame, &m); err != nil {
			break
		}
		if m.Method == "" {
			c.mu.Lock()
			answer := c.waiting[string(m.ID)]
			delete(c.waiting, string(m.ID))
			c.mu.Unlock()
			if answer != nil {
				answer <- contract.Response{ID: m.ID, Result: m.Result, Error: m.Error}
			}
			continue
		}
		n := notification{Method: m.Method}
		if m.Method == "gap" {
			err = json.Unmarshal(m.Params, &n.Gap)
		} else {
			err = json.Unmarshal(m.Params, &n.Events)
		}
		if err != nil {
			break
		}
		select {
		case c.events <- n:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	c.err = fmt.Errorf("the connection to the service ended: %w", err)
	for id, answer := range c.waiting {
		delete(c.waiting, id)
		close(answer)
	}
	c.mu.Unlock()
	close(c.events)
}

// call makes one request. The error is a *contract.Failure when the service
// refused. Result may be nil.
func (c *client) call(ctx context.Context, m contract.Method, params, result any) error {
	body, err := contract.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan contract.Response, 1)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return c.err
	}
	c.next++
	id := strconv.Itoa(c.next)
	c.waiting[id] = answer
	c.mu.Unlock()
	frame, err := contract.Marshal(contract.Request{JSONRPC: "2.0", ID: json.RawMessage(id), Method: m, Params: body})
	if err != nil {
		return err
	}
	if err := c.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return fmt.Errorf("the connection to the service ended: %w", err)
	}
	select {
	case r, ok := <-answer:
		if !ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.err
		}
		if r.Error != nil {
			return r.Error
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.Result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// subscribe subscribes to patterns since a sequence number, "new" or "all".
func (c *client) subscribe(ctx context.Context, since any, patterns ...string) (contract.SubscribeResult, error) {
	raw, err := contract.Marshal(since)
	if err != nil {
		return contract.SubscribeResult{}, err
	}
	var r contract.SubscribeResult
	err = c.call(ctx, contract.MethodSubscribe, contract.SubscribeParams{Subjects: patterns, Since: raw}, &r)
	return r, err
}

// close ends the connection.
func (c *client) close() {
	c.cancel()
	_ = c.conn.CloseNow()
}
