//go:build !race

package nodetest

// minded: nobody watches.
func minded() bool { return false }
