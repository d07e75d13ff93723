package main

import (
	"bytes"
	"os"
	"strconv"
)

// readResidents reads the process table; a process that ends meanwhile is left
// out. Source: proc_pid_stat(5), fields 4 and 24.
func readResidents() residents {
	r := residents{bytes: map[int]uint64{}, children: map[int][]int{}}
	d, err := os.Open("/proc")
	if err != nil {
		return r
	}
	defer func() { _ = d.Close() }()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return r
	}
	page := uint64(os.Getpagesize())
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may hold anything, also parentheses.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			continue
		}
		pages, err := strconv.ParseUint(string(fields[21]), 10, 64)
		if err != nil {
			continue
		}
		r.bytes[pid] = pages * page
		r.children[parent] = append(r.children[parent], pid)
	}
	return r
}
