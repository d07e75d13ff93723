package msg

// GetTree is a Call to inspect, answered by a contract.Tree.
type GetTree struct{}
