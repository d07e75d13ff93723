package secret

import (
	"sync"

	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// New returns the factory of the secret actor. All instances share the Keys of
// the first, so that a restart does not forget that the keyring hangs.
func New(o Options) gen.ProcessFactory {
	keys := sync.OnceValue(func() *Keys { return Open(o) })
	return func() gen.ProcessBehavior { return &actor{keys: keys} }
}

type (
	// boot is what the actor sends itself from Init.
	boot struct{}
	// answered carries the outcome of a request back into the mailbox.
	answered struct {
		from   gen.PID
		ref    gen.Ref
		answer any
	}
)

type actor struct {
	act.Actor
	keys func() *Keys
}

// Init does nothing that can fail.
func (a *actor) Init(...any) error { return a.Send(a.PID(), boot{}) }

// HandleMessage takes what the actor sends itself.
func (a *actor) HandleMessage(_ gen.PID, message any) error {
	switch m := message.(type) {
	case boot:
		a.keys()
	case answered:
		if err := a.SendResponse(m.from, m.ref, m.answer); err != nil {
			a.Log().Debug("answer not delivered to=%s error=%q", m.from, err)
		}
	default:
		a.Log().Warning("message not understood type=%T", message)
	}
	return nil
}

// HandleCall takes the requests of actors/msg/secret.go. All are answered later:
// a keyring may wait for a person.
func (a *actor) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	keys := a.keys()
	var work func() any
	// failed is the answer after a fault of ours.
	var failed func(error) any
	done := func(err error) any { return msg.Done{Err: err} }
	switch m := request.(type) {
	case msg.GetKey:
		failed = func(err error) any { return msg.FoundKey{Err: err} }
		work = func() any {
			key, source, err := keys.Get(m.Account)
			return msg.FoundKey{Key: key, Source: source, Err: err}
		}
	case msg.KeyStatus:
		failed = func(error) any { return keys.unknown(m.Accounts) }
		work = func() any { return keys.Info(m.Accounts...) }
	case msg.SetKey:
		failed = func(err error) any { return msg.StoredKey{Err: err} }
		work = func() any {
			source, err := keys.Set(m.Account, m.Key)
			return msg.StoredKey{Source: source, Err: err}
		}
	case msg.DeleteKey:
		failed = done
		work = func() any { return done(keys.Delete(m.Account)) }
	default:
		a.Log().Warning("request not understood type=%T", request)
		return done(sentence("The keyring reader was asked something it does not know. This is a fault of PacketBench; look at the log.")), nil
	}
	node, self := a.Node(), a.PID()
	go func() {
		answer := failed(sentence("PacketBench met a fault while it looked for the key. Try again; if it happens again, look at the log."))
		defer func() {
			_ = recover() // Not logged: a panic's text could hold a key.
			// The actor is gone when this fails; the caller asks the next one.
			_ = node.Send(self, answered{from: from, ref: ref, answer: answer})
		}()
		answer = work()
	}()
	return nil, nil
}

// HandleInspect shows nothing of what is kept.
func (a *actor) HandleInspect(gen.PID, ...string) map[string]string { return nil }
