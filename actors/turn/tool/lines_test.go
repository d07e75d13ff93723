package tool

import (
	"fmt"
	"strings"
	"testing"
)

func TestChangedLines(t *testing.T) {
	t.Parallel()
	var many, others strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "a%d\n", i)
		fmt.Fprintf(&others, "b%d\n", i)
	}
	for _, tc := range []struct {
		name           string
		before         *string
		after          string
		added, removed int
	}{
		{name: "a new file", after: "a\nb\n", added: 2},
		{name: "a new file without a last line end", after: "a\nb", added: 2},
		{name: "a new empty file"},
		{name: "filled", before: new(""), after: "a\n", added: 1},
		{name: "emptied", before: new("a\nb\n"), removed: 2},
		{name: "the same", before: new("a\nb\n"), after: "a\nb\n"},
		{name: "one line changed", before: new("a\nb\nc\n"), after: "a\nB\nc\n", added: 1, removed: 1},
		{name: "two places", before: new("a\nb\nc\nd\ne\n"), after: "A\nb\nc\nd\nE\nf\n", added: 3, removed: 2},
		{name: "a line repeated", before: new("x\nx\n"), after: "x\nx\nx\n", added: 1},
		{name: "a line moved", before: new("a\nb\nc\n"), after: "b\nc\na\n", added: 1, removed: 1},
		{name: "the last line end", before: new("a\nb"), after: "a\nb\n", added: 1, removed: 1},
		{name: "other line ends", before: new("a\r\nb\r\n"), after: "a\nb\n", added: 2, removed: 2},
		{name: "too many to compare", before: new(many.String()), after: others.String(), added: 3000, removed: 3000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			added, removed := ChangedLines(tc.before, tc.after)
			if added != tc.added || removed != tc.removed {
				t.Errorf("+%d -%d; want +%d -%d", added, removed, tc.added, tc.removed)
			}
		})
	}
}

// The counts fit the texts, and are the smallest: a table of all prefixes finds
// nothing better.
func FuzzChangedLines(f *testing.F) {
	f.Add("a\nb\nc\n", "b\nc\nd\n")
	f.Add("", "\n\n")
	f.Add("x\ny", "x\ny\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		a, b := lines(before), lines(after)
		if strings.Join(a, "") != before || len(a) > 200 || len(b) > 200 {
			t.Skip()
		}
		added, removed := ChangedLines(&before, after)
		common := make([]int, len(b)+1)
		for _, line := range a {
			diagonal := 0
			for j := range b {
				up := common[j+1]
				common[j+1] = max(up, common[j])
				if line == b[j] {
					common[j+1] = diagonal + 1
				}
				diagonal = up
			}
		}
		same := common[len(b)]
		if added != len(b)-same || removed != len(a)-same {
			t.Errorf("+%d -%d; want +%d -%d", added, removed, len(b)-same, len(a)-same)
		}
	})
}
