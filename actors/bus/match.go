package bus

import (
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// matcher decides which subjects a reader wants.
type matcher struct {
	all      bool
	patterns []string
}

func newMatcher(patterns []string) matcher {
	return matcher{all: slices.Contains(patterns, ">"), patterns: patterns}
}

func (m matcher) match(subject string) bool {
	if m.all {
		return true
	}
	for _, p := range m.patterns {
		if contract.Match(p, subject) {
			return true
		}
	}
	return false
}

// filters returns what a consumer may be asked to filter by: the patterns
// without those that another one covers, or nil, meaning no filter, when two of
// the rest overlap, which the server refuses. The reader matches again anyway.
func (m matcher) filters() []string {
	if m.all {
		return nil
	}
	var out []string
	for i, p := range m.patterns {
		covered := slices.ContainsFunc(m.patterns[:i], func(q string) bool { return covers(q, p) }) ||
			slices.ContainsFunc(m.patterns[i+1:], func(q string) bool { return covers(q, p) && !covers(p, q) })
		if !covered {
			out = append(out, p)
		}
	}
	for i, p := range out {
		if slices.ContainsFunc(out[i+1:], func(q string) bool { return overlap(p, q) }) {
			return nil
		}
	}
	return out
}

// logged reports whether any pattern can match a subject of the stream.
func (m matcher) logged() bool {
	return m.all || slices.ContainsFunc(m.patterns, func(p string) bool {
		return slices.ContainsFunc(contract.LoggedSubjects, func(q string) bool { return overlap(p, q) })
	})
}

// covers reports whether every subject that q matches is matched by p.
func covers(p, q string) bool {
	a, b := strings.Split(p, "."), strings.Split(q, ".")
	for i, t := range a {
		switch {
		case t == ">":
			return i < len(b)
		case i >= len(b), b[i] == ">":
			return false
		case t != "*" && t != b[i]:
			return false
		}
	}
	return len(a) == len(b)
}

// overlap reports whether some subject is matched by both.
func overlap(p, q string) bool {
	a, b := strings.Split(p, "."), strings.Split(q, ".")
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == ">", b[i] == ">":
			return true
		case a[i] != "*" && b[i] != "*" && a[i] != b[i]:
			return false
		}
	}
	return len(a) == len(b)
}
