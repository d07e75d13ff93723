package msg

import "github.com/packetbench/packetbench/contract"

// Fork is a Call from one conversation to the actor of a new one: become the
// conversation of Record, which nobody else holds, and send Message. Answered by
// Reply, with a contract.StartResult.
type Fork struct {
	Record      *contract.Record
	Message     string
	Attachments []contract.Attachment
}
