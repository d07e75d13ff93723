package conversation

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("ergo.services/ergo/node.(*node).SetCTRLC.func1"))
}
