//go:build !bench

package main

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
)

// TestMain looks for goroutines that outlive the tests. Ergo keeps one for each
// node, which waits for a signal. Started by an engine's test, the binary is
// that engine.
func TestMain(m *testing.M) {
	enginetest.ActIfAsked()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}
