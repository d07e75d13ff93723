package acp

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/packetbench/packetbench/actors/acp/enginetest"
)

func TestMain(m *testing.M) {
	enginetest.ActIfAsked()
	goleak.VerifyTestMain(m)
}
