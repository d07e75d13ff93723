package ui

import (
	"io/fs"
	"testing"
)

func TestFiles_IsRootedAtThePage(t *testing.T) {
	t.Parallel()
	_, err := fs.Stat(Files(), "index.html")
	if got := err == nil; got != Built() {
		t.Fatalf("index.html present = %v, Built() = %v", got, Built())
	}
	if _, err := fs.Stat(Files(), ".gitkeep"); err != nil {
		t.Fatalf("dist/.gitkeep: %v; the embed directive needs it in a fresh checkout", err)
	}
	if _, err := fs.Stat(Files(), "dist"); err == nil {
		t.Fatal("Files is rooted one directory too high")
	}
}
