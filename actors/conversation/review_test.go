package conversation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What has become of a file, and whether it can be undone.
func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := review{project: dir}
	many := strings.Repeat("x\n", plainRows+1)
	for _, tc := range []struct {
		name    string
		e       edited
		now     *string
		state   contract.EditState
		can     bool
		outside bool
		view    contract.ReviewView
		added   int
		removed int
	}{
		{"changed", edited{has: true, before: new("a\nb\n")}, new("a\nB\n"), contract.EditModified, true, false, contract.ViewFull, 1, 1},
		{"changed, by the agent last", edited{has: true, before: new("a\n"), written: hashOf("b\n")}, new("b\n"), contract.EditModified, true, false, contract.ViewFull, 1, 1},
		{"changed outside since", edited{has: true, before: new("a\n"), written: hashOf("b\n")}, new("c\n"), contract.EditModified, true, true, contract.ViewFull, 1, 1},
		{"as it was", edited{has: true, before: new("a\n")}, new("a\n"), contract.EditUnchanged, false, false, contract.ViewFull, 0, 0},
		{"new", edited{has: true}, new("a\n"), contract.EditNew, false, false, contract.ViewFull, 1, 0},
		{"new and gone again", edited{has: true}, nil, contract.EditUnchanged, false, false, contract.ViewFull, 0, 0},
		{"gone", edited{has: true, before: new("a\nb\n")}, nil, contract.EditDeleted, false, false, contract.ViewFull, 0, 2},
		{"no text from before", edited{}, new("a\n"), contract.EditUnknown, false, false, contract.ViewFull, 0, 0},
		{"too large before", edited{has: true, tooLarge: true}, new("a\n"), contract.EditUnknown, false, false, contract.ViewFull, 0, 0},
		{"no text now", edited{has: true, before: new("a\n")}, new("a\x00b"), contract.EditModified, false, false, contract.ViewSize, 0, 0},
		{"not UTF-8", edited{has: true, before: new("a\n")}, new("\xff"), contract.EditModified, false, false, contract.ViewSize, 0, 0},
		{"too large now", edited{has: true, before: new("a\n")}, new(strings.Repeat("x", reviewBytes+1)), contract.EditModified, false, false, contract.ViewSize, 0, 0},
		{"many rows", edited{has: true, before: new("")}, &many, contract.EditModified, true, false, contract.ViewPlain, plainRows + 1, 0},
	} {
		path := filepath.Join(dir, "f.txt")
		if _ = os.Remove(path); tc.now != nil {
			write(t, path, *tc.now)
		}
		tc.e.path = "f.txt"
		got := r.compare(tc.e)
		f := got.File
		if f.State != tc.state || f.CanUndo != tc.can || f.EditedOutside != tc.outside || f.View != tc.view || f.LinesAdded != tc.added || f.LinesRemoved != tc.removed {
			t.Errorf("%s: %+v", tc.name, f)
		}
		if tc.can == (f.WhyNot != "") || (f.Hash == "") != (tc.now == nil) || tc.now != nil && (f.Hash != hashOf(*tc.now) || f.SizeNow != int64(len(*tc.now))) || tc.now == nil && f.SizeNow != -1 {
			t.Errorf("%s: %+v", tc.name, f)
		}
		if shown := got.Now != nil; shown != (tc.now != nil && tc.view != contract.ViewSize) || tc.view == contract.ViewSize && got.Before != nil {
			t.Errorf("%s: texts %v %v", tc.name, got.Before, got.Now)
		}
	}
	if got := r.compare(edited{path: ".", has: true, before: new("a")}); got.File.CanUndo || got.File.WhyNot == "" || got.File.State != contract.EditUnknown {
		t.Errorf("a folder: %+v", got.File)
	}
}

// reviewed is a conversation with a project of two edited files.
func reviewed(t *testing.T) (w *world, dir string, undo func(path, hash string, merged *string) msg.Reply) {
	t.Helper()
	w = newWorld(t, nil)
	dir = t.TempDir()
	r := stored("api-demo", "demo")
	r.ProjectPath = dir
	r.Messages[1].ToolCalls = []contract.RecordCall{
		{ID: "1", Name: "edit_file", File: "a.txt", Status: contract.ToolDone},
		{ID: "2", Name: "Write", File: filepath.Join(dir, "sub", "b.txt"), Status: contract.ToolDone},
		{ID: "3", Name: "write_file", File: "failed.txt", Status: contract.ToolError},
		{ID: "4", Name: "read_file", File: "read.txt", Status: contract.ToolDone},
	}
	r.WrittenFiles = map[string]string{"a.txt": hashOf("one\nTWO\nthree\nFOUR\n")}
	w.put(r)
	w.baselines = msg.Baselines{Items: []msg.Baseline{{ToolID: "1", Path: "a.txt", Before: new("one\ntwo\nthree\nfour\n")}}}
	write(t, filepath.Join(dir, "a.txt"), "one\nTWO\nthree\nFOUR\n")
	write(t, filepath.Join(dir, "sub", "b.txt"), "b\n")
	w.wake("c-1")
	return w, dir, func(path, hash string, merged *string) msg.Reply {
		t.Helper()
		return w.call(contract.MethodUndoEdit, contract.UndoEditParams{SessionID: "c-1", Path: path, Hash: hash, MergedContent: merged})
	}
}

func TestReview_List(t *testing.T) {
	t.Parallel()
	w, _, _ := reviewed(t)
	list := w.must(contract.MethodListEdits, contract.SessionParams{SessionID: "c-1"}).([]contract.EditedFile)
	if len(list) != 2 || list[0].Path != "a.txt" || list[0].State != contract.EditModified || !list[0].CanUndo || list[0].EditedOutside || list[1].Path != "sub/b.txt" || list[1].State != contract.EditUnknown {
		t.Fatalf("%+v", list)
	}
	got := w.must(contract.MethodGetEdit, contract.EditedFileParams{SessionID: "c-1", Path: "a.txt"}).(contract.EditedFileText)
	if *got.Before != "one\ntwo\nthree\nfour\n" || *got.Now != "one\nTWO\nthree\nFOUR\n" || got.File != list[0] {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"read.txt", "failed.txt", "../x", ""} {
		if r := w.call(contract.MethodGetEdit, contract.EditedFileParams{SessionID: "c-1", Path: path}); r.Failure == nil || r.Failure.Code != contract.CodeNotFound {
			t.Errorf("%s: %+v", path, r)
		}
	}
	w.with(func() { w.baselines = msg.Baselines{Err: os.ErrPermission} })
	if r := w.call(contract.MethodListEdits, contract.SessionParams{SessionID: "c-1"}); r.Failure == nil {
		t.Error("texts that cannot be read were taken for none")
	}
}

// One hunk goes back, the other stays; then the rest, whole. Every window hears
// of it, and the file keeps its mode.
func TestReview_Undo(t *testing.T) {
	t.Parallel()
	w, dir, undo := reviewed(t)
	path := filepath.Join(dir, "a.txt")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	r := undo("a.txt", hashOf("one\nTWO\nthree\nFOUR\n"), new("one\ntwo\nthree\nFOUR\n"))
	got, ok := r.Result.(contract.EditedFileText)
	if !ok || *got.Now != "one\ntwo\nthree\nFOUR\n" || got.File.EditedOutside || got.File.LinesAdded != 1 || read(t, path) != *got.Now {
		t.Fatalf("%+v", r)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	r = undo("a.txt", got.File.Hash, nil)
	if got, ok = r.Result.(contract.EditedFileText); !ok || read(t, path) != "one\ntwo\nthree\nfour\n" || got.File.State != contract.EditUnchanged {
		t.Fatalf("%+v", r)
	}
	w.until("told twice", func() bool {
		n := 0
		for _, e := range w.find("conversation.updated") {
			if strings.Contains(e.data, `"edits":true`) {
				n++
			}
		}
		return n == 2
	})
	w.until("the hash is saved", func() bool { return w.read("c-1").WrittenFiles["a.txt"] == hashOf("one\ntwo\nthree\nfour\n") })
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// What a person has not seen is never overwritten, and what somebody else wrote
// is never taken back with the rest.
func TestReview_Conflict(t *testing.T) {
	t.Parallel()
	w, dir, undo := reviewed(t)
	path := filepath.Join(dir, "a.txt")
	seen := hashOf("one\nTWO\nthree\nFOUR\n")
	const theirs = "one\nTWO\nthree\nFOUR\nby hand\n"
	write(t, path, theirs)
	for what, r := range map[string]msg.Reply{
		"changed since you looked":     undo("a.txt", seen, new("x")),
		"edited outside":               undo("a.txt", hashOf(theirs), nil),
		"was not kept":                 undo("sub/b.txt", hashOf("b\n"), nil),
		"has not edited":               undo("read.txt", "", nil),
		"merged_content: want text of": undo("a.txt", hashOf(theirs), new(strings.Repeat("x", 2*reviewBytes+1))),
	} {
		if r.Failure == nil || !strings.Contains(r.Failure.Message, what) {
			t.Errorf("%s: %+v", what, r)
		}
	}
	if read(t, path) != theirs {
		t.Fatalf("overwritten: %q", read(t, path))
	}
	r := undo("a.txt", hashOf(theirs), new("one\ntwo\nthree\nFOUR\nby hand\n"))
	got, ok := r.Result.(contract.EditedFileText)
	if !ok || !strings.HasSuffix(read(t, path), "by hand\n") || !got.File.EditedOutside {
		t.Errorf("one hunk beside theirs: %+v", r)
	}
	if r := undo("a.txt", got.File.Hash, nil); r.Failure == nil || !strings.Contains(r.Failure.Message, "edited outside") {
		t.Errorf("whole after that: %+v", r)
	}
	_ = w
}

// A link is followed inside the project and nowhere else; the change of another
// in the last moment is seen.
func TestRewrite(t *testing.T) {
	t.Parallel()
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "away.txt")
	r := review{project: dir}
	write(t, filepath.Join(dir, "real.txt"), "a")
	write(t, away, "a")
	if err := rewrite(r, "real.txt", hashOf("b"), "c"); err == nil || read(t, filepath.Join(dir, "real.txt")) != "a" {
		t.Errorf("another text than expected: %v", err)
	}
	if err := rewrite(r, "gone.txt", hashOf("a"), "c"); err == nil {
		t.Error("a file that is gone was written")
	}
	for name, to := range map[string]string{"in.txt": "real.txt", "out.txt": away} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Logf("no links here: %v", err)
			return
		}
	}
	if err := rewrite(r, "out.txt", hashOf("a"), "c"); err == nil || read(t, away) != "a" {
		t.Errorf("written outside: %v", err)
	}
	if err := rewrite(r, "in.txt", hashOf("a"), "c"); err != nil || read(t, filepath.Join(dir, "real.txt")) != "c" {
		t.Errorf("through a link inside: %v", err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "in.txt")); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link was replaced: %v", err)
	}
	if err := rewrite(r, away, hashOf("a"), "c"); err != nil || read(t, away) != "c" {
		t.Errorf("a file outside that the agent was allowed to write: %v", err)
	}
}

// The hash of what the agent writes is kept, whoever runs the turn.
func TestReview_Written(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.wake("c-1")
	p := firstMessage
	p.ProjectPath = t.TempDir()
	w.must(contract.MethodStart, p)
	turn := w.turn()
	write(t, filepath.Join(p.ProjectPath, "a.txt"), "written\n")
	turn.emit(contract.ToolStart{ID: "1", Name: "write_file"})
	turn.say(msg.ToolFacts{Turn: turn.spec.Turn, ID: "1", File: "a.txt"})
	turn.emit(contract.ToolResult{ID: "1", Name: "write_file", Content: "ok"})
	w.until("the hash is saved", func() bool { r := w.read("c-1"); return r != nil && r.WrittenFiles["a.txt"] == hashOf("written\n") })
	turn.close(contract.Done{})
}

// A map of hashes is bounded, and one that is nothing changes nothing.
func TestWrote(t *testing.T) {
	t.Parallel()
	c := newCore("c-1", "boot-1")
	c.wrote("a", "h") // Nothing is there yet.
	c.rec = &contract.Record{}
	c.changes = newChanges()
	if c.wrote("a", ""); c.changes.head {
		t.Error("no hash was kept")
	}
	for i := range maxWritten + 5 {
		c.wrote(strings.Repeat("x", i+1), "h")
	}
	c.wrote("x", "again")
	if len(c.rec.WrittenFiles) != maxWritten || c.rec.WrittenFiles["x"] != "again" {
		t.Errorf("%d hashes", len(c.rec.WrittenFiles))
	}
}

// Remarks wait for the next message, go before it, and are gone when it was
// taken. Source: ui.md 11.
func TestDiffComments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.turnOf("one")
	comments := []contract.DiffComment{
		{ID: "1", Path: "src/a b.go", Line: 7, Side: contract.SideNew, Text: "Too\n  long.", CreatedAt: 1},
		{ID: "2", Path: "c.go", Line: 1, Side: contract.SideOld, Text: "Why gone?"},
	}
	b.must(contract.MethodDiffComments, contract.DiffCommentsParams{SessionID: "c-1", Comments: comments})
	if v := b.c.view(); len(v.DiffComments) != 2 || v.DiffComments[0] != comments[0] {
		t.Errorf("%+v", v.DiffComments)
	}
	// A message that is not taken takes none of them along.
	if _, failure := b.command(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "x", Attachments: []contract.Attachment{{MediaType: "text/html"}}}); failure == nil || len(b.c.rec.DiffComments) != 2 {
		t.Errorf("%+v, %d left", failure, len(b.c.rec.DiffComments))
	}
	b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1", Message: "Please mend."})
	const want = "File comments:\nsrc/a b.go:7 \u2014 Too long.\nc.go:1 (before the edit) \u2014 Why gone?\n\nPlease mend."
	if got := b.c.rec.Messages[b.c.lastUser()].Content; got != want {
		t.Errorf("%q", got)
	}
	if len(b.c.rec.DiffComments) != 0 || b.c.view().DiffComments == nil {
		t.Error("the remarks are still there")
	}
	// Alone, and queued behind the running turn.
	b.must(contract.MethodDiffComments, contract.DiffCommentsParams{SessionID: "c-1", Comments: comments[:1]})
	b.must(contract.MethodSend, contract.SendParams{SessionID: "c-1"})
	if q := b.c.rec.QueuedMessages; len(q) != 1 || q[0].Content != "File comments:\nsrc/a b.go:7 \u2014 Too long." {
		t.Errorf("%+v", q)
	}
	for field, bad := range map[string]contract.DiffComment{
		"id":   {Path: "a", Line: 1, Side: contract.SideNew, Text: "x"},
		"path": {ID: "1", Path: "a\nb", Line: 1, Side: contract.SideNew, Text: "x"},
		"line": {ID: "1", Path: "a", Side: contract.SideNew, Text: "x"},
		"side": {ID: "1", Path: "a", Line: 1, Text: "x"},
		"text": {ID: "1", Path: "a", Line: 1, Side: contract.SideNew, Text: " "},
	} {
		_, failure := b.command(contract.MethodDiffComments, contract.DiffCommentsParams{SessionID: "c-1", Comments: []contract.DiffComment{bad}})
		if failure == nil || !strings.HasPrefix(failure.Message, "comments[0]."+field+": ") {
			t.Errorf("%s: %+v", field, failure)
		}
	}
	if _, failure := b.command(contract.MethodDiffComments, contract.DiffCommentsParams{SessionID: "c-1", Comments: make([]contract.DiffComment, maxComments+1)}); failure == nil || failure.Code != contract.CodeOverLimit {
		t.Errorf("too many: %+v", failure)
	}
}

func TestRemovePattern(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.turnOf("one")
	b.c.rec.AllowPatterns = []string{"Bash(ls)", "Grep(*)"}
	kept := b.c.rec.AllowPatterns
	b.must(contract.MethodRemovePattern, contract.RemovePatternParams{SessionID: "c-1", Pattern: "Bash(ls)"})
	if len(b.c.rec.AllowPatterns) != 1 || b.c.rec.AllowPatterns[0] != "Grep(*)" || kept[0] != "Bash(ls)" {
		t.Errorf("%q, was %q", b.c.rec.AllowPatterns, kept)
	}
	if _, failure := b.command(contract.MethodRemovePattern, contract.RemovePatternParams{SessionID: "c-1", Pattern: "Bash(ls)"}); failure == nil || failure.Code != contract.CodeNotFound {
		t.Errorf("%+v", failure)
	}
}

// FuzzReadDisk: every file has the hash of its bytes, and a text that is shown
// is the file.
func FuzzReadDisk(f *testing.F) {
	f.Add([]byte("text\n"))
	f.Add([]byte{0xff, 0})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(dir, "f"+time.Now().Format("150405.000000000"))
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Remove(path) }()
		d := readDisk(path)
		if !d.there || d.why != "" || d.size != int64(len(content)) || d.hash != hashOf(string(content)) || d.text != nil && *d.text != string(content) {
			t.Errorf("%q: %+v", content, d)
		}
	})
}
