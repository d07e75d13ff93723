//go:build !bench

package main

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain looks for goroutines that outlive the tests. Ergo keeps one for each
// node, which waits for a signal.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}
