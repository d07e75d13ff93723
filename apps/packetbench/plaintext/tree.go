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
// supervisor counted. Ends with a line end.
func Tree(t contract.Tree) string {
	var b strings.Builder
	fmt.Fprintf(&b, "boot %s at %s\n", t.BootID, t.Time.UTC().Format(time.RFC3339))
	node(&b, t.Root, "", "")
	return b.String()
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
	if n.MaxRestarts > 0 {
		parts = append(parts, fmt.Sprintf("restarts %d (%d of %d in %d s)", n.Restarts, n.RestartsInWindow, n.MaxRestarts, n.WindowS))
	} else if n.Restarts > 0 {
		parts = append(parts, fmt.Sprintf("restarts %d", n.Restarts))
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
