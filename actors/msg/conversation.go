package msg

import (
	"encoding/json"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// Messages to a conversation's actor.
type (
	// Command is a Call: one method of a door for one conversation. The door
	// has checked role and shape; the conversation decides. Answered by
	// Reply.
	Command struct {
		Method contract.Method
		Params json.RawMessage
	}
	// Reply answers a Command. Failure is nil on success; Result is a value
	// that encodes to the method's result, never changed afterwards.
	Reply struct {
		Result  any
		Failure *contract.Failure
	}
	// Watch is a Send: somebody looks at this conversation until Until, so it
	// must not hibernate. A viewer renews it every minute.
	Watch struct{ Until time.Time }
	// Drain is a Call: refuse new turns, cancel the running one, save.
	// Answered by Done.
	Drain struct{}
)

// Facts is a Send to inspect: what an actor says about itself for the tree.
// Detail is a JSON object without secrets; an empty one forgets the actor.
type Facts struct {
	Name   string
	Detail json.RawMessage
}
