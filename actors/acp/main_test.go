package acp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.ActIfAsked()
	// Ergo keeps one goroutine per process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}
