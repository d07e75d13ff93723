package plaintext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/packetbench/packetbench/contract"
)

// Tree is the live tree, one line a node: name, what it is, state, how long it
// has run, its mailbox (now and at most), messages in and out, and what its
// supervisor counted. What stands beside the tree comes first, alarms before
// everything. Ends with a line end.
func Tree(t contract.Tree) string {
	var b strings.Builder
	fmt.Fprintf(&b, "boot %s at %s\n", t.BootID, t.Time.UTC().Format(time.RFC3339))
	if t.House != nil {
		house(&b, *t.House)
	}
	node(&b, t.Root, "", "")
	return b.String()
}

// house is what stands beside the tree, in a few lines.
func house(b *strings.Builder, h contract.HouseFacts) {
	for _, a := range h.Alarms {
		fmt.Fprintf(b, "ALARM %s (since %s)\n", Line(a.Text, lineMost), a.Since.UTC().Format(time.TimeOnly))
	}
	fmt.Fprintf(b, "%d actors, conversations %d awake of %d, memory %s and %s in programs\n", h.Actors, h.Awake, h.Stored, size(h.MemoryBytes), size(h.ChildBytes))
	up := "up"
	if !h.Log.Up {
		up = "DOWN"
	}
	fmt.Fprintf(b, "log %s, %d to %d, %s", up, h.Log.First, h.Log.Last, size(h.Log.Bytes))
	if h.Log.Waiting > 0 {
		fmt.Fprintf(b, ", %d waiting", h.Log.Waiting)
	}
	fmt.Fprintf(b, "; sidecar %s", Safe(string(h.Sidecar.State)))
	most := uint64(0)
	for _, w := range h.Windows {
		most = max(most, w.Lag)
	}
	fmt.Fprintf(b, "; %d windows, the slowest %d events behind\n", len(h.Windows), most)
}

// size is a size in bytes for people.
func size(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KB", (n+1023)>>10)
	}
	return fmt.Sprintf("%d MB", (n+1<<19)>>20)
}

// bars are eight heights of a bar.
const bars = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"

// Spark draws a short history as bars against its own largest value; empty when
// nothing has happened.
func Spark(values []float64) string {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	if top == 0 {
		return ""
	}
	levels := []rune(bars)
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(levels[min(int(v/top*float64(len(levels)-1)+0.5), len(levels)-1)])
	}
	return b.String()
}

// Fit cuts text to a window of so many columns and rows: longer lines are cut,
// and the last row says how many did not fit.
func Fit(text string, cols, rows int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if rows > 1 && len(lines) > rows-1 {
		left := len(lines) - (rows - 2)
		lines = append(lines[:max(rows-2, 0)], fmt.Sprintf("... %d more lines; without --watch all of them are printed", left))
	}
	for i, l := range lines {
		if runes := []rune(l); cols > 0 && len(runes) > cols {
			lines[i] = string(runes[:cols])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func node(b *strings.Builder, n contract.TreeNode, first, rest string) {
	b.WriteString(strings.TrimRight(first+describe(n), " "))
	b.WriteByte('\n')
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			node(b, child, rest+"\u2514\u2500\u2500 ", rest+"    ")
		} else {
			node(b, child, rest+"\u251c\u2500\u2500 ", rest+"\u2502   ")
		}
	}
}

func describe(n contract.TreeNode) string {
	parts := []string{Safe(n.Name)}
	if n.Kind != "" {
		kind := n.Kind
		if n.Behavior != "" && n.Behavior != n.Kind {
			kind += " " + n.Behavior
		}
		parts = append(parts, "("+kind+")")
	}
	if n.State != "" {
		parts = append(parts, n.State)
	}
	if n.UptimeS > 0 {
		parts = append(parts, "up "+(time.Duration(n.UptimeS)*time.Second).String())
	}
	if n.Mailbox > 0 || n.MailboxMaxSeen > 0 {
		parts = append(parts, fmt.Sprintf("mailbox %d (most %d)", n.Mailbox, n.MailboxMaxSeen))
	}
	if n.MessagesIn > 0 || n.MessagesOut > 0 {
		parts = append(parts, fmt.Sprintf("in %d out %d", n.MessagesIn, n.MessagesOut))
	}
	if r := n.Rates; r != nil && len(r.In) > 0 {
		parts = append(parts, strings.TrimRight(fmt.Sprintf("%.0f/s in %.0f/s out %s", r.In[len(r.In)-1], r.Out[len(r.Out)-1], Spark(r.In)), " "))
	}
	if n.MaxRestarts > 0 {
		parts = append(parts, fmt.Sprintf("restarts %d (%d of %d in %d s)", n.Restarts, n.RestartsInWindow, n.MaxRestarts, n.WindowS))
	} else if n.Restarts > 0 {
		parts = append(parts, fmt.Sprintf("restarts %d", n.Restarts))
	}
	for _, a := range n.Alarms {
		if a != contract.AlarmLimit { // Told by the next.
			parts = append(parts, "ALARM "+string(a))
		}
	}
	if n.LimitReached {
		parts = append(parts, "BUDGET SPENT")
	}
	if n.LastReason != "" {
		parts = append(parts, "last: "+Line(n.LastReason, lineMost))
	}
	if d := bytes.TrimSpace(n.Detail); len(d) > 0 && string(d) != "null" && string(d) != "{}" {
		var compact bytes.Buffer
		if json.Compact(&compact, d) == nil {
			d = compact.Bytes()
		}
		parts = append(parts, Line(string(d), lineMost))
	}
	return strings.Join(parts, " ")
}
