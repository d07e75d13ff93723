package main

import "os"

// residents is the resident memory of the processes of this machine, as far as
// the system tells.
type residents struct {
	bytes    map[int]uint64
	children map[int][]int
}

// tree is the memory of a process and of everything that it has started and
// that still belongs to it.
func (r residents) tree(pid int) uint64 {
	sum := r.bytes[pid]
	for _, child := range r.children[pid] {
		if child != pid {
			sum += r.tree(child)
		}
	}
	return sum
}

// service is our own memory and that of our programs.
func (r residents) service() (own, children uint64) {
	me := os.Getpid()
	own = r.bytes[me]
	if all := r.tree(me); all > own {
		children = all - own
	}
	return own, children
}
