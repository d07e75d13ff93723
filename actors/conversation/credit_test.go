package conversation

import (
	"sync/atomic"
	"testing"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// behindLog is an event log that says how far it is behind.
type behindLog struct {
	msg.Publisher
	waiting, asked atomic.Int64
	bell           *bell
}

func (l *behindLog) Waiting() int {
	l.asked.Add(1)
	l.bell.ring()
	return int(l.waiting.Load())
}

// creditedTurn counts the credits that it gets back.
type creditedTurn struct {
	*fakeTurn
	credits *atomic.Int64
}

func (t *creditedTurn) HandleMessage(from gen.PID, message any) error {
	if _, ok := message.(msg.EmittedAck); ok {
		t.credits.Add(1)
		t.w.bell.ring()
	}
	return t.fakeTurn.HandleMessage(from, message)
}

// A turn that is faster than the log is slowed down by its credits: it gets
// none back while the log is behind, and all of them once it is not. What it
// said is published meanwhile.
func TestActor_CreditsWaitForTheLog(t *testing.T) {
	t.Parallel()
	var credits atomic.Int64
	var log *behindLog
	w := newWorld(t, func(o *Options) {
		w := o.Publisher.(*world)
		log = &behindLog{Publisher: w, bell: &w.bell}
		o.Publisher = log
		o.NewTurn = func(spec msg.TurnSpec) gen.MetaBehavior {
			return &creditedTurn{&fakeTurn{w: w, spec: spec}, &credits}
		}
	})
	turn := w.start()
	log.waiting.Store(calm + 1)
	for range 3 {
		turn.emit(contract.Chunk("text "))
	}
	w.until("the chunks are published", func() bool { return len(w.find("chunk")) == 3 })
	asked := log.asked.Load()
	w.until("the log was asked again", func() bool { return log.asked.Load() >= asked+3 })
	if n := credits.Load(); n != 0 {
		t.Fatalf("%d credits came back while the log was behind", n)
	}
	log.waiting.Store(calm)
	w.until("all credits are back", func() bool { return credits.Load() == 3 })
	turn.close(contract.Done{})
	turn.gone()
	// What is owed belongs to its turn: the next one starts with nothing.
	w.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "again"})
	next := w.turn()
	before := credits.Load()
	next.emit(contract.Chunk("more"))
	w.until("its credit is back", func() bool { return credits.Load() == before+1 })
	next.close(contract.Done{})
	next.gone()
}
