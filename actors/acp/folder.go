package acp

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Folder is the one spelling of a project folder that an engine is told, the
// same bytes for session/new and session/load: absolute, links resolved, on
// Windows without the prefix of long paths. The folder must exist. Source:
// acp.md 8.
func Folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("acp: project folder %s: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("acp: project folder %s: %w", dir, err)
	}
	return plainPath(runtime.GOOS, real), nil
}

// plainPath takes Windows' prefixes of long paths off: \\?\C:\x is C:\x, and
// \\?\UNC\srv\share is \\srv\share. Other systems' paths stay as they are.
func plainPath(goos, p string) string {
	if goos != "windows" {
		return p
	}
	const long, unc = `\\?\`, `\\?\UNC\`
	if len(p) >= len(unc) && strings.EqualFold(p[:len(unc)], unc) {
		return `\\` + p[len(unc):]
	}
	return strings.TrimPrefix(p, long)
}
