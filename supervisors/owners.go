package supervisors

import (
	"maps"
	"slices"

	"ergo.services/ergo/gen"
)

// owners remembers which conversations each host holds. It lives in the
// supervisor and so outlives the host. Pure.
type owners map[gen.Atom]map[gen.Atom]struct{}

// owns records that host holds conv.
func (o owners) owns(host, conv gen.Atom) {
	if o[host] == nil {
		o[host] = make(map[gen.Atom]struct{})
	}
	o[host][conv] = struct{}{}
}

// released records that host no longer holds conv.
func (o owners) released(host, conv gen.Atom) {
	delete(o[host], conv)
	if len(o[host]) == 0 {
		delete(o, host)
	}
}

// gone forgets host and returns what it held, sorted.
func (o owners) gone(host gen.Atom) []gen.Atom {
	held := slices.Sorted(maps.Keys(o[host]))
	delete(o, host)
	return held
}
