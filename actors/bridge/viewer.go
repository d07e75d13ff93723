package bridge

import (
	"fmt"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// connection is what a viewer's actor is started with: how to run the socket
// that an HTTP handler has opened, and the session behind it.
type connection struct {
	session *session
	run     func()
}

// NewViewer returns one viewer: the actor that stands for a client in the tree.
// Its argument is the connection that the bridge handed to msg.Ensure; it
// registers the name itself.
func NewViewer() gen.ProcessBehavior { return &viewer{} }

type viewer struct {
	act.Actor
	c connection
}

type (
	viewerBoot  struct{}
	viewerEnded struct{}
)

// Init takes the name and does the rest from the mailbox.
func (v *viewer) Init(args ...any) error {
	if len(args) != 1 {
		return fmt.Errorf("bridge: want a connection, got %d arguments", len(args))
	}
	c, ok := args[0].(connection)
	if !ok {
		return fmt.Errorf("bridge: want a connection, got %T", args[0])
	}
	v.c = c
	if err := v.RegisterName(msg.ViewerName(c.session.number)); err != nil {
		return err
	}
	return v.Send(v.PID(), viewerBoot{})
}

// HandleMessage starts the socket and ends with it.
func (v *viewer) HandleMessage(_ gen.PID, message any) error {
	s := v.c.session
	switch message.(type) {
	case viewerBoot:
		detail, err := contract.Marshal(struct {
			Role   contract.Client `json:"role"`
			Kind   string          `json:"kind"`
			Remote string          `json:"remote"`
			Metas  []string        `json:"metas"`
		}{s.role, s.kind, s.remote, []string{"socket"}})
		if err == nil {
			_ = v.Send(msg.Inspect, msg.Facts{Name: string(msg.ViewerName(s.number)), Detail: detail})
		}
		if _, err := v.SpawnMeta(&socketMeta{run: v.c.run, end: s.cancel}, gen.MetaOptions{}); err != nil {
			return err
		}
	case viewerEnded:
		return gen.TerminateReasonNormal
	}
	return nil
}

// Terminate ends the connection, if it is still there.
func (v *viewer) Terminate(error) {
	if s := v.c.session; s != nil {
		s.cancel(errRestart)
	}
}

// socketMeta runs the connection on its own goroutine.
type socketMeta struct {
	gen.MetaProcess
	run func()
	end func(error)
}

// Init keeps the process.
func (m *socketMeta) Init(p gen.MetaProcess) error { m.MetaProcess = p; return nil }

// Start runs the connection to its end.
func (m *socketMeta) Start() error {
	m.run()
	_ = m.Send(m.Parent(), viewerEnded{})
	return nil
}

// HandleMessage: nobody sends a socket anything.
func (m *socketMeta) HandleMessage(gen.PID, any) error { return nil }

// HandleCall: nor asks it.
func (m *socketMeta) HandleCall(gen.PID, gen.Ref, any) (any, error) { return nil, nil }

// Terminate ends the connection; it does not wait.
func (m *socketMeta) Terminate(error) { m.end(errRestart) }

// HandleInspect tells nothing; facts are pushed.
func (m *socketMeta) HandleInspect(gen.PID, ...string) map[string]string { return nil }
