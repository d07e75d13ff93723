package conversation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// call is a request for permission, with what the gate needs to know.
type call struct {
	id, name, arguments string
	// of is the id of the tool call where that is another one than the request's.
	// rule is the name that rules are looked up and derived by, session what is
	// remembered for the session, empty for nothing.
	of, rule, session string
	tier              contract.Tier
	inProject         bool
	batchID           *string
	batchSize         *uint64
	lasting           bool
}

// Tier says how far a call can reach. Whatever cannot be classified blocks.
// Source: tools-permissions.md 7.
func Tier(name, arguments, project string) (tier contract.Tier, inProject bool) {
	if slices.Contains(readNames, name) {
		return contract.TierRead, false
	}
	if slices.Contains(editNames, name) && editInProject(name, arguments, project) {
		return contract.TierEdit, true
	}
	return contract.TierBlocking, false
}

var patchPath = regexp.MustCompile(`(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?|--- (?:a/)?)(.+?)\s*$`)

func editInProject(name, arguments, project string) bool {
	raw := unwrap(arguments)
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	var paths []string
	if name == "apply_patch" {
		for _, value := range fields {
			var patch string
			if json.Unmarshal(value, &patch) != nil {
				continue
			}
			for _, m := range patchPath.FindAllStringSubmatch(patch, -1) {
				if m[1] != "/dev/null" {
					paths = append(paths, m[1])
				}
			}
		}
	} else {
		for _, key := range editPathOf {
			var p string
			if value, ok := fields[key]; ok {
				if json.Unmarshal(value, &p) != nil || p == "" {
					return false
				}
				paths = append(paths, p)
			}
		}
	}
	if len(paths) == 0 {
		return false
	}
	for _, p := range paths {
		if !inside(p, project) {
			return false
		}
	}
	return true
}

// executed are places inside a project whose content other programs run
// unasked: hooks, MCP servers, slash commands. An edit there is a command for
// later, so it blocks like one. Ours; tools-permissions.md 7 knows no such row.
var executed = []string{".git", ".claude", ".packetbench", ".mcp.json"}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

// inside reports whether a path provably resolves inside the project, links
// followed as far as the path exists.
func inside(p, project string) bool {
	if strings.HasPrefix(p, "~") || strings.HasPrefix(p, `\\`) || strings.HasPrefix(p, "//") || strings.ContainsRune(p, 0) {
		return false
	}
	if drive.MatchString(p) && !filepath.IsAbs(p) {
		return false
	}
	if slices.Contains(strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return false
	}
	root, err := filepath.EvalSymlinks(project)
	if err != nil {
		return false
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(project, p)
	}
	// The nearest ancestor that exists decides; the rest is only names.
	for at, rest := filepath.Clean(p), ""; ; {
		if _, err := os.Lstat(at); err == nil {
			real, err := filepath.EvalSymlinks(at)
			if err != nil { // A link to nowhere.
				return false
			}
			rel, err := filepath.Rel(root, filepath.Join(real, rest))
			return err == nil && filepath.IsLocal(rel) && !slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"),
				func(part string) bool { return slices.Contains(executed, strings.ToLower(part)) })
		}
		parent := filepath.Dir(at)
		if parent == at {
			return false
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}

// verdict is what the gate says of a call.
type verdict int

const (
	prompt verdict = iota
	allow
)

// judge is the gate: the table of posture and tier with what comes before it.
// Source: tools-permissions.md 7.
func judge(p contract.Posture, c call, rules []string, tainted bool, session map[string]bool) verdict {
	if p.PermissionMode == contract.ModeAllowAll && !p.PlanMode {
		return allow
	}
	if Matches(rules, c.rule, c.arguments, c.inProject) {
		return allow
	}
	if tainted && c.tier != contract.TierRead {
		return prompt
	}
	if c.session != "" && session[c.session] {
		return allow
	}
	if p.PlanMode || p.PermissionMode == contract.ModeDenyAll {
		return prompt
	}
	switch c.tier {
	case contract.TierRead:
		return allow
	case contract.TierEdit:
		if p.PermissionMode == contract.ModeAuto {
			return allow
		}
	case contract.TierBlocking:
	}
	return prompt
}

// policy names the posture for the audit and the evidence box.
func policy(p contract.Posture, tainted bool) string {
	name := "manual"
	switch {
	case p.PlanMode:
		name = "plan"
	case p.PermissionMode == contract.ModeAuto:
		name = "default"
	case p.PermissionMode == contract.ModeAllowAll:
		name = "yolo"
	case p.PermissionMode == contract.ModeDenyAll:
		name = "deny"
	}
	if tainted {
		name += ", evidence from outside the project"
	}
	return name
}

// target is what a card and the audit show of a call, without its content: a
// project-relative path, the first words of a command, an address without its
// query.
func target(arguments string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(unwrap(arguments), &fields) != nil {
		return ""
	}
	for _, key := range []string{"command", "file_path", "notebook_path", "path", "url"} {
		var s string
		if json.Unmarshal(fields[key], &s) == nil && s != "" {
			if key == "url" {
				s, _, _ = strings.Cut(s, "?")
			}
			return clipRunes(strings.Join(strings.Fields(s), " "), 200)
		}
	}
	return ""
}

func clipRunes(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}
