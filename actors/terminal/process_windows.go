package terminal

import (
	"errors"
	"os"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
)

// errNoTerminals is why nothing starts here.
//
// Gap: issue 5; the PTY library knows no ConPTY.
var errNoTerminals = errors.New("terminals need Linux or macOS; use a terminal program of Windows instead")

// process exists on systems with PTYs only.
type process struct{ gone chan struct{} }

func start(msg.TerminalSpec, size, child.Marker, func(*child.Group) func()) (*process, error) {
	return nil, errNoTerminals
}

func (p *process) pid() int                           { return 0 }
func (p *process) setSize(size) error                 { return errNoTerminals }
func (p *process) pump(*stream, int) msg.TerminalExit { return msg.TerminalExit{Code: -1} }
func (p *process) end()                               {}
func (p *process) kill()                              {}
func signalOf(*os.ProcessState) string                { return "" }
