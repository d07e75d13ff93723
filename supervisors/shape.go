package supervisors

import (
	"fmt"
	"slices"
	"strings"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
)

// shapeLimit is the number of processes read per application. Source:
// actors.md 8.
const shapeLimit = 5000

// idOf is what stands for the id in the drawing, by kind.
var idOf = map[string]string{
	msg.KindConversation: "<id>",
	msg.KindEngine:       "<name>",
	msg.KindTerminal:     "<id>",
	msg.KindMCP:          "<server>",
	msg.KindViewer:       "<n>",
}

// Shape draws the running tree of n as testdata/tree.txt shows it: the
// applications, the supervisors and their children in the order of start. The
// children of one kind are drawn once.
func Shape(n gen.Node) (string, error) {
	var b strings.Builder
	host := string(n.Name())
	b.WriteString(host + "\n")
	apps := []gen.Atom{msg.CoreApp, msg.AgentApp, msg.OpsApp, msg.EdgeApp}
	for i, app := range apps {
		list, err := n.ApplicationProcessListShortInfo(app, shapeLimit)
		if err != nil {
			return "", fmt.Errorf("supervisors: read application %s: %w", string(app), err)
		}
		slices.SortFunc(list, func(x, y gen.ProcessShortInfo) int {
			return int(int64(x.PID.ID) - int64(y.PID.ID))
		})
		branch, indent := "├── ", "│   "
		if i == len(apps)-1 {
			branch, indent = "└── ", "    "
		}
		b.WriteString(branch + "app " + string(app) + "\n")
		own := make(map[gen.PID]bool, len(list))
		for _, p := range list {
			own[p.PID] = true
		}
		var tops []gen.ProcessShortInfo
		for _, p := range list {
			if !own[p.Parent] {
				tops = append(tops, p)
			}
		}
		draw(&b, tops, list, indent)
	}
	return b.String(), nil
}

func draw(b *strings.Builder, level, all []gen.ProcessShortInfo, indent string) {
	type line struct {
		name string
		pid  gen.PID
	}
	var lines []line
	seen := make(map[string]bool)
	for _, p := range level {
		name := string(p.Name)
		if kind, _, ok := strings.Cut(name, ":"); ok && idOf[kind] != "" {
			name = kind + ":" + idOf[kind]
		}
		if !seen[name] {
			seen[name] = true
			lines = append(lines, line{name, p.PID})
		}
	}
	for i, l := range lines {
		branch, next := "├── ", "│   "
		if i == len(lines)-1 {
			branch, next = "└── ", "    "
		}
		b.WriteString(indent + branch + l.name + "\n")
		var below []gen.ProcessShortInfo
		for _, p := range all {
			if p.Parent == l.pid {
				below = append(below, p)
			}
		}
		draw(b, below, all, indent+next)
	}
}
