package tool

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A real disk that is full: the old file stays, nothing half-written is left, and
// once there is room the write works. Needs the right to mount.
func TestWriteFile_RealDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	r := newRuntime(t, Options{Root: dir, BootID: "b", Home: dir})
	put(t, r, "f", "old")
	ballast := put(t, r, "ballast", strings.Repeat("x", 200_000))
	big := obj{"path": "f", "content": strings.Repeat("n", 100_000)}
	if res := call(t, r, WriteFile, big); !res.IsError || !strings.Contains(res.Content, "the disk is full") {
		t.Fatalf("%+v", res)
	}
	if got := content(t, r, "f"); got != "old" {
		t.Fatalf("the old file holds %d bytes", len(got))
	}
	noLitter(t, r)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if res := call(t, r, WriteFile, big); res.IsError || len(content(t, r, "f")) != 100_000 {
		t.Fatalf("with room again: %+v", res)
	}
}

// The owner of a file stays its owner when a service of another user edits it.
func TestWriteFile_Owner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	r := newRuntime(t, Options{})
	path := put(t, r, "f", "old")
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o2640|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if res := call(t, r, EditFile, obj{"path": "f", "old_string": "old", "new_string": "new"}); res.IsError {
		t.Fatal(res.Content)
	}
	st, err := os.Stat(filepath.Join(r.fence.dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	sys := st.Sys().(*syscall.Stat_t)
	if sys.Uid != 1234 || sys.Gid != 2345 || st.Mode().Perm() != 0o640 || st.Mode()&os.ModeSetgid == 0 {
		t.Errorf("owner %d:%d, mode %v", sys.Uid, sys.Gid, st.Mode())
	}
}
