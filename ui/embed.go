// Package ui holds the built web page, so that the service is one file.
//
// [Files] is what `npm run build` wrote to dist: index.html, theme.js and
// hashed files under assets/, which may be cached for ever. A build without
// the page leaves dist with .gitkeep only; [Built] says which of the two this
// binary is. The package reads nothing at run time and never fails.
package ui

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built page, rooted at the directory of index.html. It is
// read-only and safe for concurrent use.
func Files() fs.FS {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		// The directory is part of the embed directive, so it is there.
		return dist
	}
	return sub
}

// Built reports whether the page was built before the binary: whether Files
// holds an index.html.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}
