// Package sidecar holds the built sidecar, so that the program can install it
// where no checkout is.
//
// [Files] is what a Node needs to run it: dist, written by `npm run build`, and
// package.json with the lockfile, which say which SDKs it can load and in which
// exact versions. The SDKs themselves are not in it: they are the vendors' and
// come to the person's machine by npm. A build without npm leaves dist with
// .gitkeep only; [Built] says which of the two this program is. The package
// reads nothing at run time and never fails.
package sidecar

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"sync"
)

//go:embed all:dist package.json package-lock.json
var files embed.FS

// Files returns dist, package.json and package-lock.json. It is read-only and
// safe for concurrent use.
func Files() fs.FS { return files }

// Built reports whether the sidecar was built before the program: whether Files
// holds dist/index.js.
func Built() bool {
	_, err := fs.Stat(files, "dist/index.js")
	return err == nil
}

// Version names this very sidecar, such as "0.1.0-1f3c5a7b9d2e": the version of
// its package, and the beginning of a hash of Files. It is the folder that it
// is installed into, so that a program never meets the sidecar of another one
// and keeps the installed one over an upgrade that does not touch it.
func Version() string { return version() }

var version = sync.OnceValue(func() string { return versionOf(files) })

// versionOf is Version of any tree.
func versionOf(tree fs.FS) string {
	sum := sha256.New()
	_ = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		one := sha256.Sum256(body)
		_, _ = sum.Write([]byte(path + "\x00")) // A hash never fails.
		_, _ = sum.Write(one[:])
		return nil
	})
	var manifest struct {
		Version string `json:"version"`
	}
	if body, err := fs.ReadFile(tree, "package.json"); err == nil {
		_ = json.Unmarshal(body, &manifest) // It was read by npm before it was embedded.
	}
	return manifest.Version + "-" + hex.EncodeToString(sum.Sum(nil)[:6])
}
