package supervisors

// Seen by the tests of this folder that need a real node.
var (
	Options      = options
	LogAdaptor   = newLogger
	HandlerWaits = handlerWaits
)
