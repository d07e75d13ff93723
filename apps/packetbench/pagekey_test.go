package main

import (
	"log/slog"
	"os"
	"runtime"
	"testing"

	"github.com/packetbench/packetbench/config"
)

// The key of pages is the same for the next start, readable by its owner alone,
// and made anew when the file is damaged or gone.
func TestService_PageKey(t *testing.T) {
	t.Parallel()
	paths := config.Paths{Home: t.TempDir()}
	start := func() *service {
		return &service{cfg: config.Serve{Paths: paths}, logger: slog.New(slog.DiscardHandler)}
	}
	first := start().pageKey()
	if len(first) != 2*pageKeyBytes {
		t.Fatalf("%d characters", len(first))
	}
	if again := start().pageKey(); again != first {
		t.Error("the next start has another key")
	}
	// Windows knows no such bits; its user folders are private already.
	if info, err := os.Stat(paths.PageKey()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if err := os.WriteFile(paths.PageKey(), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	second := start().pageKey()
	if second == first || len(second) != len(first) {
		t.Errorf("a damaged file gives %q", second)
	}
	if err := os.Remove(paths.PageKey()); err != nil {
		t.Fatal(err)
	}
	if third := start().pageKey(); third == second {
		t.Error("a removed file keeps its key")
	}
}
