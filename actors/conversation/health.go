package conversation

import (
	"time"

	"github.com/packetbench/packetbench/contract"
)

// This file is the mark that a list shows of a conversation something happened
// to. The transcript has its line besides; the mark lasts until a turn ends well
// or the conversation sleeps.

// mark shows the state with a text that says what was lost and what was kept.
func (c *core) mark(now time.Time, s contract.HealthState, text string) {
	c.health = &contract.Health{State: s, Text: text, At: now.UTC()}
	c.patch(now, map[string]any{contract.PatchHealth: c.health})
}

// well takes the mark away.
func (c *core) well(now time.Time) {
	if c.health == nil {
		return
	}
	c.health = nil
	c.patch(now, map[string]any{contract.PatchHealth: contract.Health{State: contract.HealthOK, At: now.UTC()}})
}

// happened is the mark with its line in the transcript.
func (c *core) happened(now time.Time, level contract.Level, text string) {
	c.notice(now, level, text)
	c.mark(now, contract.HealthRestarted, text)
}

// downError is why a host is not started that stays down until somebody acts.
type downError struct{ error }
