package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// pathMark stands before the PATH in what the login shell prints, whatever its
// profile prints first.
const pathMark = "__packetbench_path__="

// repairPath takes over the login shell's PATH when the service was started by
// a desktop, whose own PATH lacks what a terminal finds. Entries are only
// added. Source: mcp-state.md 12 step 1.
func repairPath(getenv func(string) string) {
	shell := getenv("SHELL")
	if runtime.GOOS == "windows" || shell == "" || getenv("TERM") != "" || !filepath.IsAbs(shell) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-lc", `printf '%s%s\n' '`+pathMark+`' "$PATH"`)
	cmd.WaitDelay = 200 * time.Millisecond
	out, err := cmd.Output()
	if err != nil {
		return
	}
	if merged := mergePath(getenv("PATH"), string(out)); merged != "" {
		_ = os.Setenv("PATH", merged)
	}
}

// mergePath appends to current what the shell printed and current lacks.
func mergePath(current, printed string) string {
	_, line, ok := strings.Cut(printed, pathMark)
	if !ok {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	entries := filepath.SplitList(current)
	for _, e := range filepath.SplitList(line) {
		if filepath.IsAbs(e) && !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	return strings.Join(entries, string(os.PathListSeparator))
}
