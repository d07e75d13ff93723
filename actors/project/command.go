package project

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// Bounds of the command files. Ours: far beyond what anybody writes.
const (
	maxCommands     = 500
	maxCommandBytes = 256 << 10
)

// commandsDir is where a project keeps its commands. Source: mcp-state.md 10.
var commandsDir = filepath.Join(".packetbench", "commands")

// Commands lists the Markdown commands of the folder global and of a project,
// sorted by name; the project's hide the global ones. Either may be empty.
func Commands(global, project string) []contract.SlashCommand {
	all := map[string]contract.SlashCommand{}
	for _, from := range []struct {
		base, dir string
		source    contract.CommandSource
	}{{global, ".", contract.CommandGlobal}, {project, commandsDir, contract.CommandProject}} {
		if from.base == "" {
			continue
		}
		for _, c := range readCommands(from.base, from.dir) {
			c.Source = from.source
			all[c.Name] = c
		}
	}
	out := make([]contract.SlashCommand, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
}

func readCommands(base, dir string) (out []contract.SlashCommand) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	folder, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }()
	names, _ := folder.Readdirnames(-1)
	slices.Sort(names) // So that of two files with one name it is always the same.
	for _, name := range names {
		stem, is := strings.CutSuffix(name, ".md")
		if !is || len(out) == maxCommands {
			continue
		}
		text, cut, err := readText(root, filepath.Join(dir, name), maxCommandBytes)
		if err != nil || cut {
			continue
		}
		if c, ok := ParseCommand(stem, text); ok {
			out = append(out, c)
		}
	}
	return out
}

// ParseCommand reads one command file; stem is its name without ".md". It is
// not ok when the name has other characters than a-z 0-9 and -, or the body is
// empty. Source: mcp-state.md 10.
func ParseCommand(stem, text string) (contract.SlashCommand, bool) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	front, body := frontMatter(text)
	c := contract.SlashCommand{Name: strings.ToLower(stem), Body: strings.TrimSpace(body)}
	if name := front["name"]; name != "" {
		c.Name = strings.ToLower(name)
	}
	if c.Body == "" || !validName(c.Name) {
		return contract.SlashCommand{}, false
	}
	if c.Description = front["description"]; c.Description == "" {
		c.Description, _, _ = strings.Cut(c.Body, "\n")
		c.Description = strings.TrimSpace(c.Description)
	}
	return c, true
}

func validName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') })
}

// frontMatter splits the lines between --- off. One that is not closed is part
// of the body.
func frontMatter(text string) (map[string]string, string) {
	rest, opened := strings.CutPrefix(text, "---\n")
	if !opened {
		return nil, text
	}
	front := map[string]string{}
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if strings.TrimRight(line, " \t") == "---" {
			return front, rest
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		front[strings.ToLower(strings.TrimSpace(key))] = unquote(strings.TrimSpace(value))
	}
	return nil, text
}

// unquote takes one pair of quotation marks off, as YAML would.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
