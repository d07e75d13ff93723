package supervisors

import (
	"time"

	"ergo.services/ergo/gen"
)

// places decides who has to sleep when as many children are awake as may be.
// It is pure. Source: actors.md 3 (the longest idle one is stopped first).
type places struct {
	// max is the number of children that may be awake; 0 means any number.
	max   int
	idle  map[gen.Atom]time.Time
	asked map[gen.Atom]bool
}

func newPlaces(limit int) *places {
	return &places{max: limit, idle: make(map[gen.Atom]time.Time), asked: make(map[gen.Atom]bool)}
}

// free tells whether one more may be started while awake are.
func (p *places) free(awake int) bool { return p.max <= 0 || awake < p.max }

// said takes what a child says about itself; a zero since means busy. It
// returns true if the child had been asked to sleep and will not.
func (p *places) said(name gen.Atom, since time.Time) (refused bool) {
	if since.IsZero() {
		delete(p.idle, name)
		refused = p.asked[name]
		delete(p.asked, name)
		return refused
	}
	p.idle[name] = since
	return false
}

// gone forgets a child that ended.
func (p *places) gone(name gen.Atom) {
	delete(p.idle, name)
	delete(p.asked, name)
}

// giveUp stops counting on those that were asked and have not ended. They are
// not asked again before they report anew.
func (p *places) giveUp() {
	for name := range p.asked {
		delete(p.idle, name)
	}
	clear(p.asked)
}

// pick returns the longest idle child that was not asked yet, and marks it as
// asked. Equal times go by name, so the choice is always the same.
func (p *places) pick() (gen.Atom, bool) {
	var name gen.Atom
	for n, since := range p.idle {
		if p.asked[n] {
			continue
		}
		if name == "" || since.Before(p.idle[name]) || since.Equal(p.idle[name]) && n < name {
			name = n
		}
	}
	if name == "" {
		return "", false
	}
	p.asked[name] = true
	return name, true
}
