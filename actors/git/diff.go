package git

import (
	"context"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// maxDiff is how much of a diff is handed on, in bytes. Ours: about 30,000
// tokens, so that a review leaves room in the window of a small model.
const maxDiff = 128 << 10

// plain keeps a repository's own settings from running programs or colouring.
var plain = []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv"}

// Diff is what is staged in the folder dir, else what is changed and tracked:
// what a reviewer is shown. An empty text is a folder without changes. Its error
// is an [*Error], for a person.
func (g *Git) Diff(ctx context.Context, dir string) (contract.ProjectDiff, error) {
	staged, err := g.read(ctx, dir, append(append(append([]string{}, plain...), "--cached"), notWorktrees...)...)
	if err != nil {
		return contract.ProjectDiff{}, err
	}
	if staged != "" {
		text, cut := cutDiff(staged)
		return contract.ProjectDiff{Diff: text, Staged: true, Truncated: cut}, nil
	}
	// Against the index and not HEAD: a repository without a commit has none.
	changed, err := g.read(ctx, dir, append(append([]string{}, plain...), notWorktrees...)...)
	if err != nil {
		return contract.ProjectDiff{}, err
	}
	text, cut := cutDiff(changed)
	return contract.ProjectDiff{Diff: text, Truncated: cut}, nil
}

// cutDiff keeps whole lines up to maxDiff, and text that JSON can carry.
func cutDiff(diff string) (text string, cut bool) {
	if len(diff) > maxDiff {
		end := strings.LastIndexByte(diff[:maxDiff], '\n') + 1
		diff, cut = diff[:end], true
	}
	return strings.ToValidUTF8(diff, "\uFFFD"), cut
}
