package msg

import "time"

// CloseDoors is a Call to the bridge: stop accepting, tell the clients, close
// the sockets, within the time given. Answered by Done.
type CloseDoors struct{ Within time.Duration }

// Opened is the bridge's answer to Ready: the address it got, or why it got
// none.
type Opened struct {
	Addr string
	Err  error
}
