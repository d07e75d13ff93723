package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", ".", "rel/ative", filepath.Join(dir, "none"), file} {
		if r, err := New(Options{Root: root}); err == nil {
			r.Close()
			t.Errorf("%q was accepted", root)
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	var names []string
	for _, s := range r.Specs() {
		names = append(names, s.Name)
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" || s.Description == "" {
			t.Errorf("%s: %v, %+v", s.Name, err, schema)
		}
		for _, f := range schema.Required {
			if schema.Properties[f] == nil {
				t.Errorf("%s: requires %s, which it does not describe", s.Name, f)
			}
		}
		// list_directory requires a path and still has a default for it.
		if len(schema.Required) > 0 && s.Name != ListDirectory {
			res := call(t, r, s.Name, obj{})
			if want := "Error: argument '" + schema.Required[0] + "' is required"; res.Content != want || !res.IsError {
				t.Errorf("%s without arguments: %q, want %q", s.Name, res.Content, want)
			}
		}
	}
	want := []string{"read_file", "write_file", "edit_file", "list_directory", "bash", "grep", "web_fetch", "task_create", "task_update", "task_list"}
	if !slices.Equal(names, want) {
		t.Fatalf("got %v", names)
	}
	if res := call(t, r, "no_such", obj{}); !res.IsError || !strings.Contains(res.Content, `no tool "no_such"`) {
		t.Errorf("%+v", res)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "a.txt", "hi")
	for _, tc := range []struct {
		tool, args, want string
	}{
		{ReadFile, `{"path":"a.txt"}`, "hi"},
		{ReadFile, `"{\"path\":\"a.txt\"}"`, "hi"}, // an object inside a string
		{ReadFile, `{"path":"a.txt","unknown":1}`, "hi"},
		{ReadFile, `{"path":7}`, "Error: argument 'path' must be a string"},
		{ReadFile, `{"path":null}`, "Error: argument 'path' is required"},
		{ReadFile, `{"path":""}`, "Error: argument 'path' must not be empty"},
		{ReadFile, `{"path":"a\u0000b"}`, "Error: argument 'path' must not hold a zero byte"},
		{ReadFile, `[1]`, "Error: the arguments are not a JSON object; send one JSON object"},
		{ReadFile, `{"path": "a`, "Error: the arguments are not a JSON object; send one JSON object"}, // F07
		{ReadFile, `null`, "Error: argument 'path' is required"},
		{ReadFile, ``, "Error: argument 'path' is required"},
		{EditFile, `{"path":"a.txt","old_string":"h","new_string":"j","replace_all":"yes"}`, "Error: argument 'replace_all' must be true or false"},
		{Bash, `{"command":"echo x","timeout":1.5}`, "Error: argument 'timeout' must be a whole number"},
		{Bash, `{"command":"echo x","timeout":0}`, "Error: argument 'timeout' must be at least 1"},
		{Bash, `{"command":"echo x","timeout":1e99}`, "Error: argument 'timeout' must be a whole number"},
		{Bash, `{"command":"  "}`, "Error: argument 'command' must not be empty"},
		{TaskCreate, `{"title":"x","status":"later"}`, "Error: argument 'status' must be one of pending, in_progress, completed"},
	} {
		t.Run(tc.tool+tc.args, func(t *testing.T) {
			t.Parallel()
			res := r.Run(context.Background(), tc.tool, json.RawMessage(tc.args))
			if res.Content != tc.want || res.IsError != strings.HasPrefix(tc.want, "Error: ") {
				t.Fatalf("got %q (%v), want %q", res.Content, res.IsError, tc.want)
			}
		})
	}
}

// FuzzRun: no arguments make a tool panic, fail without its prefix or speak in
// broken text. bash and web_fetch would really do what they are told.
func FuzzRun(f *testing.F) {
	f.Add(uint8(0), `{"path":"a"}`)
	f.Add(uint8(1), `{"path":"a/b","content":"x"}`)
	f.Add(uint8(2), `{"path":"a","old_string":"x","new_string":"y","replace_all":true}`)
	f.Add(uint8(3), `{"path":"../.."}`)
	f.Add(uint8(4), `{"pattern":"(","path":"a"}`)
	f.Add(uint8(5), `{"title":"x"}`)
	f.Add(uint8(6), `"{}"`)
	names := []string{ReadFile, WriteFile, EditFile, ListDirectory, Grep, TaskCreate, TaskUpdate}
	outside := f.TempDir()
	root := filepath.Join(outside, "p")
	if err := os.Mkdir(root, 0o700); err != nil {
		f.Fatal(err)
	}
	r, err := New(Options{Root: root})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.Close)
	f.Fuzz(func(t *testing.T, which uint8, arguments string) {
		res := r.Run(context.Background(), names[int(which)%len(names)], json.RawMessage(arguments))
		if res.IsError != strings.HasPrefix(res.Content, "Error: ") || strings.ToValidUTF8(res.Content, "") != res.Content {
			t.Fatalf("%+v", res)
		}
		if names, _ := os.ReadDir(outside); len(names) != 1 {
			t.Fatalf("something was written outside: %v", names)
		}
	})
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "a b/\u00e7'x\".txt", "one\r\ntwo\n") // F81
	put(t, r, "empty", "")
	put(t, r, "zero", "text\x00more")
	put(t, r, "latin", "caf\xe9")
	put(t, r, "late", strings.Repeat("x", 9000)+"\x00") // a zero byte behind the first 8 KiB
	put(t, r, "full", strings.Repeat("x", maxFileBytes))
	put(t, r, "over", strings.Repeat("x", maxFileBytes+1))
	put(t, r, "dir/f", "x")
	for _, tc := range []struct {
		path, want string
	}{
		{"a b/\u00e7'x\".txt", "one\r\ntwo\n"},
		{filepath.Join(r.fence.dir, "a b", "\u00e7'x\".txt"), "one\r\ntwo\n"},
		{"./dir/../dir/./f", "x"},
		{"empty", ""},
		{"zero", "binary, 9 bytes"},  // F75
		{"latin", "binary, 4 bytes"}, // F75
		{"late", strings.Repeat("x", 9000) + "\x00"},
		{"full", strings.Repeat("x", maxFileBytes)},
		{"over", "Error: 'over' has 2000001 bytes, the limit is 2000000; search it with grep or print a part of it with bash"},
		{"dir", "Error: 'dir' is a folder, not a file; name a file"},
		{"none", "Error: 'none' does not exist; list the folder to see what is there"},
		{"dir/f/x", "Error: 'dir/f/x' goes through a file, not a folder; use another path"},
		{strings.Repeat("n", 300), "Error: '" + strings.Repeat("n", 300) + "' is too long for this disk; use a shorter name"},
	} {
		t.Run(tc.path[:min(40, len(tc.path))], func(t *testing.T) {
			t.Parallel()
			res := call(t, r, ReadFile, obj{"path": tc.path})
			if res.Content != tc.want || res.IsError != strings.HasPrefix(tc.want, "Error: ") || res.Origin != OriginLocal || res.Tainting {
				t.Fatalf("got %.200q %+v", res.Content, res.IsError)
			}
		})
	}
}

// F74: a sparse file of 5 GB is refused by its size, and memory stays flat.
func TestReadFile_Sparse(t *testing.T) {
	// Not parallel: it measures memory.
	r := newRuntime(t, Options{})
	if err := os.Truncate(put(t, r, "huge", ""), 5<<30); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for tool, args := range map[string]obj{
		ReadFile:  {"path": "huge"},
		EditFile:  {"path": "huge", "old_string": "a", "new_string": "b"},
		Grep:      {"pattern": "a", "path": "huge"},
		WriteFile: {"path": "other", "content": "x"},
	} {
		res := call(t, r, tool, args)
		if (tool == ReadFile || tool == EditFile) && (!res.IsError || !strings.Contains(res.Content, "5368709120 bytes")) {
			t.Errorf("%s: %+v", tool, res)
		}
	}
	if p, err := r.Propose(WriteFile, encode(t, obj{"path": "huge", "content": "x"})); err != nil || p.Before != nil || p.Existing != "too large, 5368709120 bytes" {
		t.Errorf("%+v, %v", p, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}

func TestListDirectory(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	for _, n := range []string{"b.txt", "a/x", ".hidden", ".git/x", "node_modules/x", "target/x", "sub/vendor", "sub/.x/y", "Z/y"} {
		put(t, r, n, "")
	}
	if err := os.Mkdir(filepath.Join(r.fence.dir, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "a", filepath.Join(r.fence.dir, "inner"))
	link(t, t.TempDir(), filepath.Join(r.fence.dir, "outer"))
	for _, tc := range []struct {
		args obj
		want string
	}{
		{obj{}, "[DIR] Z\n[DIR] a\nb.txt\n[DIR] inner\n[DIR] none\nouter\n[DIR] sub"},
		{obj{"path": "."}, "[DIR] Z\n[DIR] a\nb.txt\n[DIR] inner\n[DIR] none\nouter\n[DIR] sub"},
		{obj{"path": "sub"}, "vendor"}, // a file of that name is no folder of dependencies
		{obj{"path": "none/"}, "(nothing to list)"},
		{obj{"path": "inner"}, "x"},
		{obj{"path": "b.txt"}, "Error: 'b.txt' is a file, not a folder; use read_file"},
		{obj{"path": "nope"}, "Error: 'nope' does not exist; list the folder to see what is there"},
	} {
		if res := call(t, r, ListDirectory, tc.args); res.Content != tc.want {
			t.Errorf("%v: got %q, want %q", tc.args, res.Content, tc.want)
		}
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Skipf("needs symbolic links: %v", err)
	}
}

// F71: no file tool follows a link out of the project, whatever it looks like.
func TestFence(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "p")
	outside := filepath.Join(base, "p-outside") // begins with the same characters
	for _, d := range []string{root, outside, filepath.Join(root, "in")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(outside, "secret")
	for _, f := range []string{secret, filepath.Join(root, "in", "ok")} {
		if err := os.WriteFile(f, []byte("secret text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link(t, outside, filepath.Join(root, "out"))
	link(t, "../p-outside", filepath.Join(root, "outrel"))
	link(t, secret, filepath.Join(root, "outfile"))
	link(t, "out", filepath.Join(root, "chain"))
	link(t, filepath.Join(base, "nowhere"), filepath.Join(root, "dangling"))
	link(t, "circle", filepath.Join(root, "circle"))
	link(t, filepath.Join(root, "in"), filepath.Join(root, "absin"))
	link(t, "in", filepath.Join(root, "relin"))
	r := newRuntime(t, Options{Root: root})
	viaLink := filepath.Join(base, "alias")
	link(t, root, viaLink)

	refused := []string{
		"../p-outside/secret", secret, outside, base, "/", "/etc/passwd", "out/secret", "outrel/secret", "outfile", "chain/secret", "out", "out/new", "out/a/b/new",
		"in/../../p-outside/secret", "out/../p/in/../../p-outside/secret", "~", "~/x", `C:\x`, `\\host\share\x`, "..", "new/../../p-outside/x", "new/../out/x",
		"dangling", "dangling/x", "circle", "circle/x", "out/../secret",
	}
	for _, p := range refused {
		for tool, args := range map[string]obj{
			ReadFile:      {"path": p},
			WriteFile:     {"path": p, "content": "overwritten"},
			EditFile:      {"path": p, "old_string": "secret", "new_string": "overwritten"},
			ListDirectory: {"path": p},
			Grep:          {"path": p, "pattern": "secret"},
		} {
			res := call(t, r, tool, args)
			if !res.IsError || strings.Contains(res.Content, "secret text") {
				t.Errorf("%s %q: %+v", tool, p, res)
			}
			if !strings.Contains(res.Content, "outside the project") && !strings.Contains(p, "dangling") && !strings.Contains(p, "circle") && !strings.Contains(p, "/../") {
				t.Errorf("%s %q does not say why: %s", tool, p, res.Content)
			}
			if _, err := r.Propose(WriteFile, encode(t, obj{"path": p, "content": "x"})); err == nil {
				t.Errorf("a proposal for %q", p)
			}
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret text" {
		t.Fatalf("outside file: %q, %v", b, err)
	}
	if names, _ := os.ReadDir(outside); len(names) != 1 {
		t.Fatalf("something was created outside: %v", names)
	}
	if names, _ := os.ReadDir(base); len(names) != 3 {
		t.Fatalf("something was created outside: %v", names)
	}

	// Links that stay inside are followed, and so is the project's other name.
	for _, p := range []string{"in/ok", "absin/ok", "relin/ok", "out/../p/in/ok", "relin/../in/ok", filepath.Join(viaLink, "in", "ok"), filepath.Join(root, "in", "ok")} {
		if p == "out/../p/in/ok" {
			// The link is resolved first, as the system does it: this is inside.
			if res := call(t, r, ReadFile, obj{"path": p}); res.Content != "secret text" {
				t.Errorf("%q: %+v", p, res)
			}
			continue
		}
		if res := call(t, r, ReadFile, obj{"path": p}); res.IsError || res.Locator != "in/ok" {
			t.Errorf("%q: %+v", p, res)
		}
	}
	// A search from above meets every link and follows none.
	if res := call(t, r, Grep, obj{"pattern": "secret"}); res.Content != "in/ok:1: secret text" {
		t.Errorf("grep: %q", res.Content)
	}
	// A write through a link that stays inside changes its target, not the link.
	link(t, "ok", filepath.Join(root, "in", "toOk"))
	if res := call(t, r, WriteFile, obj{"path": "in/toOk", "content": "new"}); res.IsError || !slices.Equal(res.ModifiedPaths, []string{"in/ok"}) {
		t.Errorf("%+v", res)
	}
	if st, err := os.Lstat(filepath.Join(root, "in", "toOk")); err != nil || st.Mode()&os.ModeSymlink == 0 || content(t, r, "in/ok") != "new" {
		t.Errorf("%v %v %q", st, err, content(t, r, "in/ok"))
	}
}

// F72: a folder that is swapped for a link between the check and the use leads
// nowhere.
func TestFence_Swap(t *testing.T) {
	t.Parallel()
	for tool, args := range map[string]obj{
		ReadFile:            {"path": "d/f"},
		WriteFile:           {"path": "d/f", "content": "overwritten"},
		WriteFile + " new":  {"path": "d/new", "content": "x"},
		WriteFile + " deep": {"path": "d/x/y/new", "content": "x"},
		EditFile:            {"path": "d/f", "old_string": "outside", "new_string": "x"},
		ListDirectory:       {"path": "d"},
		Grep:                {"path": "d", "pattern": "outside"},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, Options{})
			put(t, r, "d/f", "inside")
			outside := t.TempDir()
			if err := os.WriteFile(filepath.Join(outside, "f"), []byte("outside"), 0o644); err != nil {
				t.Fatal(err)
			}
			d := filepath.Join(r.fence.dir, "d")
			swapped := false
			r.afterCheck = func(string) {
				if err := os.Rename(d, d+"-old"); err != nil {
					t.Error(err)
				}
				link(t, outside, d)
				swapped = true
			}
			name, _, _ := strings.Cut(tool, " ")
			res := call(t, r, name, args)
			if !swapped || !res.IsError || !strings.Contains(res.Content, "outside the project") {
				t.Errorf("swapped %v: %+v", swapped, res)
			}
			if b, _ := os.ReadFile(filepath.Join(outside, "f")); string(b) != "outside" {
				t.Errorf("outside file: %q", b)
			}
			if names, _ := os.ReadDir(outside); len(names) != 1 {
				t.Errorf("something was created outside: %v", names)
			}
		})
	}
}

// F72, by racing: links are swapped all the time while files are written.
func TestFence_Race(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	outside := t.TempDir()
	put(t, r, "real/f", "")
	d, real := filepath.Join(r.fence.dir, "d"), filepath.Join(r.fence.dir, "real")
	link(t, outside, filepath.Join(r.fence.dir, "evil"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.RemoveAll(d) // a link, or the folder that a write made in between
			if i%2 == 0 {
				_ = os.Symlink(outside, d)
			} else {
				_ = os.Symlink(real, d)
			}
		}
	})
	good, bad := 0, 0
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; i < 400 || (good == 0 || bad == 0) && time.Now().Before(deadline); i++ {
		if res := call(t, r, WriteFile, obj{"path": fmt.Sprintf("d/n%d", i%7), "content": "x"}); res.IsError {
			bad++
		} else {
			good++
		}
	}
	close(stop)
	wg.Wait()
	if names, _ := os.ReadDir(outside); len(names) != 0 {
		t.Fatalf("written outside: %v", names)
	}
	if good == 0 || bad == 0 {
		t.Fatalf("the race never happened: %d good, %d bad", good, bad)
	}
	t.Logf("%d writes went to the folder inside, %d were refused", good, bad)
}

// FuzzResolve: the fence answers with a place inside or an error, for any text.
func FuzzResolve(f *testing.F) {
	base := f.TempDir()
	root := filepath.Join(base, "p")
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
		f.Fatal(err)
	}
	_ = os.Symlink("..", filepath.Join(root, "up"))
	_ = os.Symlink("a/b", filepath.Join(root, "in"))
	for _, s := range []string{"a", "a/b/../..", "up/p/a", "in/../../..", "new/../up", "//", "a//b/", "in/x/../../y", ".", "a/./b"} {
		f.Add(s)
	}
	fence, err := newFence(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(fence.close)
	f.Fuzz(func(t *testing.T, s string) {
		for _, must := range []bool{true, false} {
			rel, err := fence.resolve(s, must)
			if err != nil {
				continue
			}
			if !filepath.IsLocal(rel) {
				t.Fatalf("%q is at %q", s, rel)
			}
			if _, err := fence.root.Stat(rel); err != nil && (must || escapes(err)) {
				t.Fatalf("%q at %q: %v", s, rel, err)
			}
		}
	})
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "old.sh", "old")
	if err := os.Chmod(filepath.Join(r.fence.dir, "old.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	put(t, r, "dir/x", "")
	for _, tc := range []struct {
		path, content, want string
	}{
		{"a b/c d/\u00e7'x.txt", "text \u2014\r\n", "Wrote 10 bytes to a b/c d/\u00e7'x.txt."}, // F81
		{"old.sh", "n", "Wrote 1 byte to old.sh."},
		{"nothing", "", "Wrote 0 bytes to nothing."},
		{"x/../y", "1", "Wrote 1 byte to y."},
		{"dir", "x", "Error: 'dir' is a folder, not a file; name a file"},
		{"new/", "x", "Error: argument 'path' names a folder; name a file"},
		{".", "x", "Error: '.' is a folder, not a file; name a file"},
		{"dir/x/y", "x", "Error: 'dir/x/y' goes through a file, not a folder; use another path"},
	} {
		res := call(t, r, WriteFile, obj{"path": tc.path, "content": tc.content})
		if res.Content != tc.want {
			t.Errorf("%q: got %q, want %q", tc.path, res.Content, tc.want)
			continue
		}
		if !res.IsError && (len(res.ModifiedPaths) != 1 || content(t, r, res.ModifiedPaths[0]) != tc.content) {
			t.Errorf("%q: %+v", tc.path, res)
		}
	}
	if st, err := os.Stat(filepath.Join(r.fence.dir, "old.sh")); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	noLitter(t, r)
}

// noLitter fails when a temporary file was left behind.
func noLitter(t *testing.T, r *Runtime) {
	t.Helper()
	_ = filepath.WalkDir(r.fence.dir, func(p string, _ os.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(p), tempPrefix) {
			t.Errorf("left behind: %s", p)
		}
		return nil
	})
}

// The other names of a file keep their content: they may be outside.
func TestWriteFile_HardLink(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	outside := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(outside, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, filepath.Join(r.fence.dir, "f")); err != nil {
		t.Skipf("needs hard links: %v", err)
	}
	if res := call(t, r, WriteFile, obj{"path": "f", "content": "new"}); res.IsError {
		t.Fatal(res.Content)
	}
	if b, _ := os.ReadFile(outside); string(b) != "old" || content(t, r, "f") != "new" {
		t.Fatalf("outside %q, inside %q", b, content(t, r, "f"))
	}
}

// full is a disk that takes a few bytes and then no more.
type full struct {
	w    io.Writer
	room int
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	n, err := f.w.Write(p[:n])
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: "temporary", Err: syscall.ENOSPC}
	}
	return n, err
}

// A full disk is told as such; the old file is as it was.
func TestWriteFile_DiskFull(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "f", "old text")
	r.writer = func(w io.Writer) io.Writer { return &full{w: w, room: 3} }
	for tool, args := range map[string]obj{
		WriteFile: {"path": "f", "content": "new text"},
		EditFile:  {"path": "f", "old_string": "old", "new_string": "new"},
	} {
		res := call(t, r, tool, args)
		if !res.IsError || !strings.Contains(res.Content, "the disk is full") || strings.Contains(res.Content, "temporary") || res.ModifiedPaths != nil {
			t.Errorf("%s: %+v", tool, res)
		}
	}
	if got := content(t, r, "f"); got != "old text" {
		t.Errorf("the old file holds %q", got)
	}
	noLitter(t, r)
}

// A reader never sees a part of a write, whenever it looks.
func TestWriteFile_Atomic(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	texts := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)}
	put(t, r, "f", texts[0])
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			if got := content(t, r, "f"); got != texts[0] && got != texts[1] {
				t.Errorf("a part of a file: %d bytes", len(got))
				return
			}
		}
	})
	for i := range 16 {
		if res := call(t, r, WriteFile, obj{"path": "f", "content": texts[i%2]}); res.IsError {
			t.Error(res.Content)
		}
	}
	done.Store(true)
	wg.Wait()
}

func TestEditFile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		args       obj
		want       string // the file afterwards
		result     string
	}{
		{name: "one", file: "a\nb\nc\n", args: obj{"old_string": "b", "new_string": "B"}, want: "a\nB\nc\n", result: "Replaced 1 occurrence in f.\n1: a\n2: B\n3: c"},
		{name: "delete", file: "a\nb\nc\n", args: obj{"old_string": "b\n", "new_string": ""}, want: "a\nc\n", result: "Replaced 1 occurrence in f.\n1: a\n2: c"},
		{name: "everything", file: "a", args: obj{"old_string": "a", "new_string": ""}, want: "", result: "Replaced 1 occurrence in f."},
		{name: "all", file: "x x\nx\n", args: obj{"old_string": "x", "new_string": "yy", "replace_all": true}, want: "yy yy\nyy\n", result: "Replaced 3 occurrences in f.\n1: yy yy\n2: yy"},
		{name: "not overlapping", file: "aaa", args: obj{"old_string": "aa", "new_string": "b", "replace_all": true}, want: "ba", result: "Replaced 1 occurrence in f.\n1: ba"},
		{name: "new holds old", file: "a", args: obj{"old_string": "a", "new_string": "aa", "replace_all": true}, want: "aa", result: "Replaced 1 occurrence in f.\n1: aa"},
		// F73 and its relatives.
		{name: "CRLF file", file: "a\r\nb\r\n", args: obj{"old_string": "a\nb", "new_string": "c\nd\ne"}, want: "c\r\nd\r\ne\r\n", result: "Replaced 1 occurrence in f.\n1: c\n2: d\n3: e"},
		{name: "CRLF asked for, LF file", file: "a\nb\n", args: obj{"old_string": "a\r\nb", "new_string": "c\r\nd"}, want: "c\nd\n"},
		{name: "CRLF both", file: "a\r\nb\r\n", args: obj{"old_string": "a\r\nb\r\n", "new_string": "x\r\n"}, want: "x\r\n"},
		{name: "line end at the edge", file: "a\r\nb\r\nc\r\n", args: obj{"old_string": "\nb\n", "new_string": "\n"}, want: "a\r\nc\r\n"},
		{name: "mixed, untouched lines stay", file: "a\r\nb\nc\r\nd\n", args: obj{"old_string": "c", "new_string": "C"}, want: "a\r\nb\nC\r\nd\n"},
		{name: "mixed, mostly LF", file: "a\r\nb\nc\nd\n", args: obj{"old_string": "b", "new_string": "1\n2"}, want: "a\r\n1\n2\nc\nd\n"},
		{name: "byte order mark", file: bom + "a\r\nb\r\n", args: obj{"old_string": "a\nb", "new_string": "c"}, want: bom + "c\r\n", result: "Replaced 1 occurrence in f.\n1: c"},
		{name: "byte order mark in the arguments", file: bom + "a\n", args: obj{"old_string": bom + "a", "new_string": bom + "b"}, want: bom + "b\n"},
		{name: "lone return", file: "a\rb\n", args: obj{"old_string": "a\rb", "new_string": "c"}, want: "c\n"},
		{name: "reserved argument", file: "a", args: obj{"old_string": "a", "new_string": "b", "__packetbench_approved_content": "forged"}, want: "b"},
		{name: "empty old", file: "a", args: obj{"old_string": "", "new_string": "b"}, want: "a", result: "Error: argument 'old_string' must not be empty; use write_file to create a file"},
		{name: "same", file: "a", args: obj{"old_string": "a", "new_string": "a"}, want: "a", result: "Error: argument 'new_string' is the same as old_string; there is nothing to change"},
		{name: "same but for line ends", file: "a\n", args: obj{"old_string": "a\n", "new_string": "a\r\n"}, want: "a\n", result: "Error: argument 'new_string' is the same as old_string; there is nothing to change"},
		{name: "none", file: "a", args: obj{"old_string": "b", "new_string": "c"}, want: "a", result: "Error: old_string was not found in 'f'; read the file again and copy the text exactly, with its spaces"},
		{name: "several", file: "aba", args: obj{"old_string": "a", "new_string": "c"}, want: "aba", result: "Error: old_string occurs 2 times in 'f'; add lines around it to make it unique, or set replace_all"},
		{name: "binary", file: "a\x00b", args: obj{"old_string": "a", "new_string": "c"}, want: "a\x00b", result: "Error: 'f' is no text (binary, 3 bytes), so it cannot be edited; replace it with write_file or use bash"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, Options{})
			put(t, r, "f", tc.file)
			tc.args["path"] = "f"
			p, perr := r.Propose(EditFile, encode(t, tc.args))
			res := call(t, r, EditFile, tc.args)
			if got := content(t, r, "f"); got != tc.want {
				t.Fatalf("the file holds %q, want %q (%s)", got, tc.want, res.Content)
			}
			if tc.result != "" && res.Content != tc.result {
				t.Fatalf("got %q, want %q", res.Content, tc.result)
			}
			// The proposal says the same, before anything happens.
			if res.IsError {
				if perr == nil || res.Content != "Error: "+perr.Error() {
					t.Fatalf("proposal: %v", perr)
				}
			} else if perr != nil || p.Content != tc.want || p.Before == nil || *p.Before != tc.file || p.Path != "f" {
				t.Fatalf("proposal: %+v, %v", p, perr)
			}
		})
	}
	r := newRuntime(t, Options{})
	if res := call(t, r, EditFile, obj{"path": "none", "old_string": "a", "new_string": "b"}); !res.IsError || !strings.Contains(res.Content, "does not exist") {
		t.Errorf("%+v", res)
	}
}

func TestEditFile_Context(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "f", "1\n2\n3\nX\n5\n6\n7\n")
	long := strings.Repeat("\u2014", 300)
	res := call(t, r, EditFile, obj{"path": "f", "old_string": "X", "new_string": long})
	want := "Replaced 1 occurrence in f.\n2: 2\n3: 3\n4: " + strings.Repeat("\u2014", 200) + "...\n5: 5\n6: 6"
	if res.Content != want {
		t.Errorf("got %q, want %q", res.Content, want)
	}
	res = call(t, r, EditFile, obj{"path": "f", "old_string": long, "new_string": strings.Repeat("y\n", 40)})
	if n := strings.Count(res.Content, "\n"); n != 12 {
		t.Errorf("%d lines of context: %q", n, res.Content)
	}
}

// Edits of one file that run at the same time lose nothing to one another.
func TestEditFile_Concurrent(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	runtimes := []*Runtime{newRuntime(t, Options{Root: root}), newRuntime(t, Options{Root: root})}
	var text, want strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "old%02d\n", i)
		fmt.Fprintf(&want, "new%02d\n", i)
	}
	put(t, runtimes[0], "f", text.String())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			res := call(t, runtimes[i%2], EditFile, obj{"path": "f", "old_string": fmt.Sprintf("old%02d", i), "new_string": fmt.Sprintf("new%02d", i)})
			if res.IsError {
				t.Error(res.Content)
			}
		})
	}
	wg.Wait()
	if got := content(t, runtimes[0], "f"); got != want.String() {
		t.Fatalf("got %q", got)
	}
	writes.mu.Lock()
	defer writes.mu.Unlock()
	for k := range writes.keys {
		if strings.HasPrefix(k, root) {
			t.Errorf("a lock was kept: %s", k)
		}
	}
}

// FuzzEdit: an edit is what a plain replace of the text with one kind of line
// end would be, and untouched text keeps its bytes.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", false)
	f.Add(bom+"x", "x", "y", true)
	f.Add("\r\r\n\n", "\n", "\r\n\r", true)
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		d, err := edit{path: "f", old: old, new: new, all: all}.apply(file)
		if old == "" || err != nil {
			return
		}
		flat := func(s string) string { return unixEnds(strings.TrimPrefix(s, bom)) }
		o, n := unixEnds(old), unixEnds(new)
		if strings.HasPrefix(file, bom) {
			o, n = flat(old), flat(new)
			if !strings.HasPrefix(d.text, bom) {
				t.Fatalf("the mark is gone: %q", d.text)
			}
		}
		body := unixEnds(strings.TrimPrefix(file, bom))
		if !strings.Contains(body, o) {
			t.Fatalf("found %q in %q", o, file)
		}
		// Where "\r" stands alone beside a line end, replacing can make a new
		// pair; there only the count is compared.
		if got, want := unixEnds(strings.TrimPrefix(d.text, bom)), strings.ReplaceAll(body, o, n); got != want && !strings.Contains(file+old+new, "\r") {
			t.Fatalf("got %q, want %q", got, want)
		}
		if d.count != strings.Count(body, o) || d.count > 1 && !all {
			t.Fatalf("count %d", d.count)
		}
		i := strings.Index(unixEnds(file), o)
		if !strings.Contains(file, "\r") && !strings.HasPrefix(file, bom) && !strings.HasPrefix(d.text, file[:i]) {
			t.Fatalf("what was ahead changed: %q to %q", file, d.text)
		}
		_ = d.context()
	})
}

func TestPropose(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "f", "old")
	put(t, r, "bin", "\x00\x01")
	put(t, r, "dir/x", "")
	for _, tc := range []struct {
		name, tool string
		args       obj
		want       Proposal
		err        string
	}{
		{name: "new file", tool: WriteFile, args: obj{"path": "./x/../a/n", "content": "c"}, want: Proposal{Path: "a/n", Content: "c"}},
		{name: "existing", tool: WriteFile, args: obj{"path": "f", "content": "c"}, want: Proposal{Path: "f", Content: "c", Before: ptr("old")}},
		{name: "over a binary", tool: WriteFile, args: obj{"path": "bin", "content": "c"}, want: Proposal{Path: "bin", Content: "c", Existing: "binary, 2 bytes"}},
		{name: "edit", tool: EditFile, args: obj{"path": "f", "old_string": "l", "new_string": "LL"}, want: Proposal{Path: "f", Content: "oLLd", Before: ptr("old")}},
		{name: "no path", tool: WriteFile, args: obj{"content": "c"}, err: "argument 'path' is required"},
		{name: "folder", tool: WriteFile, args: obj{"path": "dir", "content": "c"}, err: "'dir' is a folder, not a file; name a file"},
		{name: "outside", tool: WriteFile, args: obj{"path": "../x", "content": "c"}, err: "'../x' is outside the project folder; use a path inside it"},
		{name: "edit of nothing", tool: EditFile, args: obj{"path": "n", "old_string": "l", "new_string": "L"}, err: "'n' does not exist; list the folder to see what is there"},
		{name: "no edit", tool: Bash, args: obj{"command": "x"}, err: "bash is not an edit; it has nothing to propose"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := r.Propose(tc.tool, encode(t, tc.args))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || got.Path != tc.want.Path || got.Content != tc.want.Content || got.Existing != tc.want.Existing ||
				(got.Before == nil) != (tc.want.Before == nil) || got.Before != nil && *got.Before != *tc.want.Before {
				t.Fatalf("got %+v, %v", got, err)
			}
		})
	}
	if content(t, r, "f") != "old" {
		t.Error("a proposal changed the file")
	}
	if _, err := os.Stat(filepath.Join(r.fence.dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a proposal created a folder")
	}
}

func ptr[T any](v T) *T { return &v }

func TestRunApproved(t *testing.T) {
	t.Parallel()
	write := obj{"path": "f", "content": "proposed"}
	change := obj{"path": "f", "old_string": "b", "new_string": "B"}
	for _, tc := range []struct {
		name, tool string
		args       obj
		merged     *string
		meanwhile  string // what somebody else makes of the file while it is reviewed
		want       string // the file afterwards
		refused    bool
	}{
		{name: "write", tool: WriteFile, args: write, want: "proposed"},
		{name: "write, merged", tool: WriteFile, args: write, merged: ptr("merged"), want: "merged"},
		{name: "edit", tool: EditFile, args: change, want: "a\nB\nc\n"},
		{name: "edit, merged", tool: EditFile, args: change, merged: ptr("merged"), want: "merged"},
		{name: "merged to nothing", tool: EditFile, args: change, merged: ptr(""), want: ""},
		{name: "write, changed meanwhile", tool: WriteFile, args: write, meanwhile: "mine", want: "mine", refused: true},
		{name: "write merged, changed meanwhile", tool: WriteFile, args: write, merged: ptr("m"), meanwhile: "mine", want: "mine", refused: true},
		{name: "edit merged, changed meanwhile", tool: EditFile, args: change, merged: ptr("m"), meanwhile: "mine", want: "mine", refused: true},
		// The replacement still fits, and takes nothing away.
		{name: "edit, changed meanwhile", tool: EditFile, args: change, meanwhile: "z\nb\n", want: "z\nB\n"},
		{name: "edit, gone meanwhile", tool: EditFile, args: change, meanwhile: "z", want: "z", refused: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRuntime(t, Options{})
			put(t, r, "f", "a\nb\nc\n")
			raw := encode(t, tc.args)
			if _, err := r.Propose(tc.tool, raw); err != nil {
				t.Fatal(err)
			}
			if tc.meanwhile != "" {
				put(t, r, "f", tc.meanwhile)
			}
			res := r.RunApproved(context.Background(), tc.tool, raw, tc.merged)
			if res.IsError != tc.refused || content(t, r, "f") != tc.want {
				t.Fatalf("%+v; the file holds %q", res, content(t, r, "f"))
			}
		})
	}
	r := newRuntime(t, Options{})
	if res := r.RunApproved(context.Background(), Bash, encode(t, obj{"command": "echo x"}), nil); !res.IsError {
		t.Errorf("%+v", res)
	}
	// Without a proposal (after a restart) the user's word still counts.
	if res := r.RunApproved(context.Background(), WriteFile, encode(t, write), ptr("m")); res.IsError || content(t, r, "f") != "m" {
		t.Errorf("%+v", res)
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "a.go", "package a\n\n\tfunc Needle() {}\r\n")
	put(t, r, "sub/b.ts", "x\nneedle here")
	put(t, r, "sub/c.tsx", bom+"needle first")
	put(t, r, ".hidden/n", "needle")
	put(t, r, ".env", "needle")
	put(t, r, "node_modules/n", "needle")
	put(t, r, "sub/dist/n", "needle")
	put(t, r, "zero", "needle\n\x00")
	put(t, r, "latin", "needle\n"+strings.Repeat("x\n", 50_000)+"\xe9")
	put(t, r, "long.js", strings.Repeat("\u2014", 100_000)+"needle\nneedle after")
	put(t, r, "wide", "needle "+strings.Repeat("w", 1000))
	for i := range 3 {
		put(t, r, fmt.Sprintf("many/%d", i), strings.Repeat("hit\n", 40))
	}
	put(t, r, "exact/x", strings.Repeat("hundred\n", 100))
	for _, tc := range []struct {
		args obj
		want string
	}{
		{obj{"pattern": "(?i)needle", "include": "*.go"}, "a.go:3: func Needle() {}"},
		{obj{"pattern": "needle", "include": "*.{ts,tsx}"}, "sub/b.ts:2: needle here\nsub/c.tsx:1: needle first"},
		{obj{"pattern": "^needle", "path": "sub"}, "sub/b.ts:2: needle here\nsub/c.tsx:1: needle first"},
		{obj{"pattern": "needle", "include": "**/*.ts"}, "sub/b.ts:2: needle here"},
		{obj{"pattern": "needle", "path": "sub/b.ts"}, "sub/b.ts:2: needle here"},
		{obj{"pattern": "needle", "path": ".env"}, ".env:1: needle"}, // asked for by name
		{obj{"pattern": "needle$", "path": "zero"}, "No matches."},
		{obj{"pattern": "needle", "path": "latin"}, "No matches."},
		{obj{"pattern": "needle", "path": "long.js"}, "long.js:2: needle after"}, // beyond the searched part of the line
		{obj{"pattern": "w$", "path": "wide"}, "wide:1: needle " + strings.Repeat("w", 493) + "..."},
		{obj{"pattern": "^$", "path": "a.go"}, "a.go:2: "},
		{obj{"pattern": "nothing"}, "No matches."},
		{obj{"pattern": "("}, "Error: argument 'pattern' is not a regular expression of RE2 syntax: missing closing ): `(`"},
		{obj{"pattern": ""}, "Error: argument 'pattern' must not be empty"},
		{obj{"pattern": "x", "include": "["}, "Error: argument 'include' is not a glob; write it like *.go or *.{ts,tsx}"},
		{obj{"pattern": "x", "path": "none"}, "Error: 'none' does not exist; list the folder to see what is there"},
	} {
		if res := call(t, r, Grep, tc.args); res.Content != tc.want {
			t.Errorf("%v: got %.300q, want %.300q", tc.args, res.Content, tc.want)
		}
	}
	res := call(t, r, Grep, obj{"pattern": "hit", "path": "many"})
	lines := strings.Split(res.Content, "\n")
	if len(lines) != 101 || lines[99] != "many/2:20: hit" || lines[100] != "[stopped at 100 matches; narrow the pattern or the path]" {
		t.Errorf("%d lines, ends %q", len(lines), lines[len(lines)-2:])
	}
}

// A search stops when its turn does.
func TestGrep_Cancel(t *testing.T) {
	t.Parallel()
	r := newRuntime(t, Options{})
	put(t, r, "f", strings.Repeat("x\n", 100_000))
	ctx, cancel := context.WithCancel(context.Background())
	r.afterCheck = func(string) { cancel() }
	res := r.Run(ctx, Grep, encode(t, obj{"pattern": "y"}))
	if !res.IsError || res.Content != "Error: Cancelled by the user" {
		t.Fatalf("%+v", res)
	}
	if res := r.Run(ctx, ReadFile, encode(t, obj{"path": "f"})); !res.IsError {
		t.Fatalf("ran after the cancel: %+v", res)
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	tasks := NewTasks()
	r := newRuntime(t, Options{Tasks: tasks})
	if res := call(t, r, TaskList, obj{}); res.Content != "No tasks yet." {
		t.Errorf("%q", res.Content)
	}
	one := call(t, r, TaskCreate, obj{"title": "  first\n task "}).Content
	two := call(t, r, TaskCreate, obj{"title": "second", "status": "in_progress"}).Content
	three := call(t, r, TaskCreate, obj{"title": "third"}).Content
	if len(one) != 36 || one[14] != '4' || one == two {
		t.Errorf("ids %q, %q", one, two)
	}
	if res := call(t, r, TaskUpdate, obj{"task_id": three, "status": "completed", "title": "3rd"}); res.IsError {
		t.Error(res.Content)
	}
	want := "- [ ] first task (" + one + ")\n- [~] second (" + two + ")\n- [x] 3rd (" + three + ")"
	if res := call(t, r, TaskList, nil); res.Content != want {
		t.Errorf("got %q, want %q", res.Content, want)
	}
	for _, tc := range []struct {
		tool string
		args obj
		want string
	}{
		{TaskUpdate, obj{"task_id": "nope", "status": "pending"}, "Error: argument 'task_id' names no task: 'nope'; task_list shows the ids"},
		{TaskUpdate, obj{"task_id": one}, "Error: the arguments name nothing to change; give 'status' or 'title'"},
		{TaskUpdate, obj{"task_id": one, "status": "done"}, "Error: argument 'status' must be one of pending, in_progress, completed"},
		{TaskUpdate, obj{"task_id": one, "title": " "}, "Error: argument 'title' must not be empty"},
		{TaskCreate, obj{"title": " \n"}, "Error: argument 'title' must not be empty"},
		{TaskCreate, obj{"title": strings.Repeat("x", 501)}, "Error: argument 'title' must have at most 500 characters"},
	} {
		if res := call(t, r, tc.tool, tc.args); res.Content != tc.want {
			t.Errorf("%v: %q", tc.args, res.Content)
		}
	}
	var wg sync.WaitGroup
	for range 600 {
		wg.Go(func() { call(t, r, TaskCreate, obj{"title": "x"}) })
	}
	wg.Wait()
	if n := len(tasks.All()); n != maxTasks {
		t.Errorf("%d tasks", n)
	}
	r.Close()
	if n := len(tasks.All()); n != 0 {
		t.Errorf("%d tasks after the close", n)
	}
}

// A folder that cannot be opened is said in sentences for a person.
func TestNew_FolderRefused(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "gone")
	for _, tc := range []struct{ name, root, want string }{
		{"relative", "here", `The project folder "here" is not an absolute path. Choose the folder again.`},
		{"missing", missing, fmt.Sprintf("The project folder %q cannot be opened: ", missing)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Options{Root: tc.root, BootID: "b", Home: t.TempDir()})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Count(err.Error(), "gone") > 1 {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
}
