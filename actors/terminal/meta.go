package terminal

import (
	"runtime/debug"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// meta is the process of one program: it carries its bytes and says how it
// ended.
type meta struct {
	gen.MetaProcess
	opt    Options
	spec   msg.TerminalSpec
	stream *stream
	size   size
	id     contract.TerminalID

	process *process
	life    int
	err     error // Why it did not start.
}

// Init starts the program.
func (m *meta) Init(p gen.MetaProcess) error {
	m.MetaProcess = p
	m.process, m.err = start(m.spec, m.size, child.Marker{BootID: m.opt.BootID, Home: m.opt.Home}, m.opt.Register)
	if m.err != nil {
		return m.err
	}
	m.life = m.stream.begin(m.process)
	return nil
}

// Start carries bytes until the program has ended, and waits until nothing of it
// is left.
func (m *meta) Start() error {
	parent := m.Parent()
	e := m.pump()
	_ = m.Send(parent, exited{m.ID(), e})
	<-m.process.gone
	_ = m.Send(parent, swept{m.process.pid()})
	return nil
}

func (m *meta) pump() (e msg.TerminalExit) {
	defer func() {
		if fault := recover(); fault != nil {
			m.Log().Error("terminal fault terminal=%s fault=%v\n%s", string(m.id), fault, debug.Stack())
			m.process.kill()
			e = msg.TerminalExit{Code: -1}
		}
	}()
	return m.process.pump(m.stream, m.life)
}

// HandleMessage takes nothing: keys and sizes go past the mailbox, so that the
// client who sends them feels when the program does not read.
func (m *meta) HandleMessage(gen.PID, any) error { return nil }

// HandleCall answers nobody.
func (m *meta) HandleCall(gen.PID, gen.Ref, any) (any, error) { return nil, nil }

// Terminate ends the program at once. It must not wait.
func (m *meta) Terminate(error) {
	if m.process != nil {
		go m.process.kill()
	}
}

// HandleInspect tells nothing; facts are pushed.
func (m *meta) HandleInspect(gen.PID, ...string) map[string]string { return nil }
