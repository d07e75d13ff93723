package msg

import "time"

// GetTree is a Call to inspect, answered by a contract.Tree.
type GetTree struct{}

// Look is a Send to inspect: somebody looks at the tree until Until, so it is
// sampled. A viewer renews it every minute; a GetTree counts as a short look.
type Look struct{ Until time.Time }
