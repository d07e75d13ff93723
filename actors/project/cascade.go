package project

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// MaxCascadeBytes is how much of the instructions for agents goes into a system
// prompt. Source: mcp-state.md 8.
const MaxCascadeBytes = 32 << 10

// guides are the files of one folder, in their order. Source: mcp-state.md 8.
var guides = []string{"CLAUDE.md", "AGENTS.md", "AGENTS.override.md"}

// Cascade reads the instructions for agents: those of home (the folder
// ~/.claude, or what CLAUDE_HOME names; empty for none), then those of each
// folder from top, the root of the working tree, down to dir. An empty top means
// that dir is in no repository and stands alone. Together they have at most
// MaxCascadeBytes; the layer that was cut says so, and what comes behind it is
// left out.
func Cascade(home, top, dir string) []contract.PromptLayer {
	c := &cascade{left: MaxCascadeBytes, texts: map[string]bool{}}
	if home != "" {
		c.read(home, []string{"."})
	}
	base, steps := chain(top, dir)
	c.read(base, steps)
	return c.layers
}

// chain is the folder to read from and the steps from there down to dir.
func chain(top, dir string) (base string, steps []string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	rel, err := filepath.Rel(top, dir)
	if top == "" || err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return dir, []string{"."}
	}
	steps = []string{"."}
	if rel == "." {
		return top, steps
	}
	at := ""
	for step := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, step)
		steps = append(steps, at)
	}
	return top, steps
}

type cascade struct {
	layers []contract.PromptLayer
	files  []os.FileInfo
	texts  map[string]bool
	left   int
}

func (c *cascade) read(base string, steps []string) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	for _, step := range steps {
		for _, name := range guides {
			at := filepath.Join(step, name)
			info, err := root.Stat(at)
			if err != nil || c.seen(info) {
				continue
			}
			text, cut, err := readText(root, at, MaxCascadeBytes)
			if err == nil {
				c.add(filepath.Join(base, at), strings.TrimSpace(text), cut)
			}
		}
	}
}

// seen reports whether the same file was read under another name.
func (c *cascade) seen(info os.FileInfo) bool {
	for _, f := range c.files {
		if os.SameFile(f, info) {
			return true
		}
	}
	c.files = append(c.files, info)
	return false
}

func (c *cascade) add(source, text string, cut bool) {
	if text == "" || c.texts[text] || c.left <= 0 {
		return
	}
	c.texts[text] = true
	layer := contract.PromptLayer{Kind: contract.LayerCascade, Source: source, Text: "<!-- " + strings.ReplaceAll(source, "--", "- -") + " -->\n" + text}
	if len(c.layers) > 0 {
		c.left -= len(contract.LayerJoint)
	}
	if cut || len(layer.Text) > c.left {
		note := fmt.Sprintf("\n\n[Cut here: the instructions for agents have more than %d KiB.]", MaxCascadeBytes>>10)
		keep := max(0, min(len(layer.Text), c.left)-len(note))
		layer.Text = whole(layer.Text[:keep]) + note
		layer.Note = fmt.Sprintf("Cut at %d KiB; files behind it are left out.", MaxCascadeBytes>>10)
		c.left = 0
	}
	c.left -= len(layer.Text)
	c.layers = append(c.layers, layer)
}
