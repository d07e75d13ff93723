package tool

import "strings"

// maxLineDistance bounds the search of ChangedLines: its work grows with the
// square of the distance, and 2000 lines cost about 20 ms.
const maxLineDistance = 2000

// ChangedLines counts the lines that were added to and removed from a file, as
// a line diff shows them: a changed line is one of each. A line includes its
// end, so a last line that only gained one counts as changed. before is nil for
// a file that was not there.
//
// The count is the smallest possible one, up to maxLineDistance; beyond it
// every line between the first and the last difference counts. Source: Myers,
// "An O(ND) Difference Algorithm and Its Variations", 1986.
func ChangedLines(before *string, after string) (added, removed int) {
	var a []string
	if before != nil {
		a = lines(*before)
	}
	b := lines(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return len(b), len(a)
	}
	d, found := distance(numbered(a, b))
	if !found {
		return len(b), len(a)
	}
	// added + removed is the distance, added - removed the difference in length.
	added = (d + len(b) - len(a)) / 2
	return added, d - added
}

func lines(s string) []string {
	all := strings.SplitAfter(s, "\n")
	return all[:len(all)-1+min(1, len(all[len(all)-1]))]
}

// numbered replaces lines by numbers, which compare in one step.
func numbered(a, b []string) (x, y []int) {
	numbers := make(map[string]int, len(a)+len(b))
	number := func(all []string) []int {
		out := make([]int, len(all))
		for i, line := range all {
			n, known := numbers[line]
			if !known {
				n = len(numbers)
				numbers[line] = n
			}
			out[i] = n
		}
		return out
	}
	return number(a), number(b)
}

// distance is the least number of insertions and deletions that make y of x;
// found is false beyond maxLineDistance.
func distance(x, y []int) (d int, found bool) {
	limit := min(len(x)+len(y), maxLineDistance)
	// furthest[limit+1+k] is how far into x the best path on diagonal k reaches.
	furthest := make([]int, 2*limit+3)
	for d := range limit + 1 {
		for k := -d; k <= d; k += 2 {
			at := limit + 1 + k
			i := furthest[at-1] + 1
			if k == -d || k != d && furthest[at-1] < furthest[at+1] {
				i = furthest[at+1]
			}
			j := i - k
			for i < len(x) && j < len(y) && x[i] == y[j] {
				i, j = i+1, j+1
			}
			furthest[at] = i
			if i >= len(x) && j >= len(y) {
				return d, true
			}
		}
	}
	return 0, false
}
