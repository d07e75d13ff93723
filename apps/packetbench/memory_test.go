package main

import "testing"

// Memory is given back once after work, when the work is over.
func TestResting(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	r := &resting{}
	for i, look := range []struct {
		total uint64
		due   bool
	}{
		{20 * mb, false},   // Started just now.
		{20*mb + 10, true}, // Came to rest.
		{20*mb + 20, false},
		{24 * mb, false},
		{24*mb + 10, false}, // Too little to be worth it.
		{60 * mb, false},
		{90 * mb, false}, // Busy.
		{90*mb + mb/2, true},
	} {
		if got := r.due(look.total); got != look.due {
			t.Errorf("look %d: due %v", i, got)
		}
	}
	if allocated() == 0 {
		t.Error("the runtime tells no allocations")
	}
}
