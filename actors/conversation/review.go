package conversation

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ergo.services/ergo/gen"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/actors/turn/tool"
	"github.com/packetbench/packetbench/config"
	"github.com/packetbench/packetbench/contract"
)

// Bounds of a review. Source of the first two: ui.md 11. A file beyond the third
// is not read at all.
const (
	plainRows    = 5_000
	reviewBytes  = 2_000_000
	hashMost     = 256 << 20
	maxReviewed  = 2_000
	maxComments  = 200
	maxComment   = 4_000
	maxWritten   = 2_000
	textNoAnswer = "The texts from before the edits could not be read just now; try again."
)

// edited is one file of a conversation's review.
type edited struct {
	path string // As keys have it: below the project, or absolute.
	// has says that a text from before is on record, before nil that the file
	// did not exist then.
	has, tooLarge bool
	before        *string
	written       string
}

// review is what the work beside the mailbox needs of the conversation.
type review struct {
	id      contract.ConversationID
	project string
	paths   []string
	written map[string]string
}

// editedPaths are the files that the transcript says were written, each once, in
// their order.
func (c *core) editedPaths() []string {
	var paths []string
	seen := map[string]bool{}
	for i := range c.rec.Messages {
		for k := range c.rec.Messages[i].ToolCalls {
			for _, path := range c.writes(&c.rec.Messages[i].ToolCalls[k]) {
				if !seen[path] && len(paths) < maxReviewed {
					seen[path] = true
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

// writes are the files that a settled call has written.
func (c *core) writes(call *contract.RecordCall) []string {
	if call.Status != contract.ToolDone || !slices.Contains(editNames, call.Name) {
		return nil
	}
	var paths []string
	for _, path := range append([]string{call.File}, call.ModifiedPaths...) {
		if path == "" {
			continue
		}
		if path = relative(path, c.rec.ProjectPath); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// at is where a path of a review lies on the disk.
func (r review) at(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.project, filepath.FromSlash(path))
}

// serveReview carries out one method of the review surface.
func (a *actor) serveReview(who asker, m msg.Command) *contract.Failure {
	c := a.core
	r := review{id: c.id, project: c.rec.ProjectPath, paths: c.editedPaths(), written: maps.Clone(c.rec.WrittenFiles)}
	switch m.Method {
	case contract.MethodListEdits:
		a.beside(who, func(_ context.Context, node gen.Node) func(time.Time) msg.Reply {
			all, failure := r.all(node)
			list := make([]contract.EditedFile, 0, len(all))
			for _, e := range all {
				list = append(list, r.compare(e).File)
			}
			return replied(list, failure)
		})
	case contract.MethodGetEdit:
		p, failure := params[contract.EditedFileParams](m.Params)
		if failure != nil {
			return failure
		}
		a.beside(who, func(_ context.Context, node gen.Node) func(time.Time) msg.Reply {
			e, failure := r.one(node, p.Path)
			if failure != nil {
				return replied(nil, failure)
			}
			return replied(r.compare(e), nil)
		})
	case contract.MethodUndoEdit:
		p, failure := params[contract.UndoEditParams](m.Params)
		if failure != nil {
			return failure
		}
		a.beside(who, func(_ context.Context, node gen.Node) func(time.Time) msg.Reply { return a.undo(node, r, p) })
	}
	return nil
}

func replied(result any, failure *contract.Failure) func(time.Time) msg.Reply {
	return func(time.Time) msg.Reply { return msg.Reply{Result: result, Failure: failure} }
}

// all joins what the store has kept with what the transcript says was written.
func (r review) all(node gen.Node) ([]edited, *contract.Failure) {
	reply, err := node.CallWithTimeout(msg.Store, msg.LoadBaselines{ID: r.id}, 10)
	kept, ok := reply.(msg.Baselines)
	if err != nil || !ok {
		return nil, contract.Fail(contract.CodeInternal, "%s", textNoAnswer)
	}
	if kept.Err != nil {
		return nil, contract.Fail(contract.CodeInternal, "%s", sentence(kept.Err))
	}
	var all []edited
	seen := map[string]bool{}
	add := func(e edited) {
		if !seen[e.path] && len(all) < maxReviewed {
			seen[e.path] = true
			e.written = r.written[e.path]
			all = append(all, e)
		}
	}
	for _, b := range kept.Items {
		add(edited{path: b.Path, has: true, before: b.Before, tooLarge: b.TooLarge})
	}
	for _, path := range r.paths {
		add(edited{path: path})
	}
	return all, nil
}

func (r review) one(node gen.Node, path string) (edited, *contract.Failure) {
	all, failure := r.all(node)
	if failure != nil {
		return edited{}, failure
	}
	i := slices.IndexFunc(all, func(e edited) bool { return e.path == path })
	if i < 0 {
		return edited{}, contract.Fail(contract.CodeNotFound, "This conversation has not edited %s.", clipRunes(path, 200))
	}
	return all[i], nil
}

// onDisk is a file as it is now. text is nil for one that is no text or too
// large to be shown.
type onDisk struct {
	there bool
	size  int64
	hash  string
	text  *string
	why   string // It cannot be read: a sentence.
}

func readDisk(path string) onDisk {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return onDisk{size: -1}
	}
	const unread = "Could not read this file from disk."
	if err != nil {
		return onDisk{there: true, size: -1, why: unread}
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > hashMost {
		return onDisk{there: true, size: -1, why: unread}
	}
	sum := sha256.New()
	var kept bytes.Buffer
	n, err := io.Copy(sum, io.TeeReader(f, &capped{to: &kept, left: reviewBytes + 1}))
	if err != nil {
		return onDisk{there: true, size: -1, why: unread}
	}
	d := onDisk{there: true, size: n, hash: hex.EncodeToString(sum.Sum(nil))}
	if n <= reviewBytes && utf8.Valid(kept.Bytes()) && bytes.IndexByte(kept.Bytes(), 0) < 0 {
		text := kept.String()
		d.text = &text
	}
	return d
}

// capped keeps the first bytes that are written to it.
type capped struct {
	to   *bytes.Buffer
	left int
}

// Write never fails.
func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.to.Write(p[:n])
	c.left -= n
	return len(p), nil
}

// hashOf is the hash of a text as readDisk makes it of a file.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// compare looks at the disk and says what has become of a file.
func (r review) compare(e edited) contract.EditedFileText {
	d := readDisk(r.at(e.path))
	f := contract.EditedFile{Path: e.path, State: contract.EditUnknown, Hash: d.hash, SizeBefore: -1, SizeNow: d.size, View: contract.ViewFull}
	f.EditedOutside = e.written != "" && e.written != d.hash
	out := contract.EditedFileText{Before: e.before, Now: d.text}
	if e.before != nil {
		f.SizeBefore = int64(len(*e.before))
	}
	switch {
	case d.why != "":
		f.WhyNot = d.why
	case !d.there && e.has && e.before == nil && !e.tooLarge:
		f.State, f.WhyNot = contract.EditUnchanged, "This file was new and is gone again."
	case !d.there:
		f.State, f.WhyNot = contract.EditDeleted, "This file is gone, so nothing can be undone in it."
	case !e.has:
		f.WhyNot = "The text from before the first edit was not kept."
	case e.tooLarge:
		f.WhyNot = fmt.Sprintf("The file had more than %d bytes before the first edit, so that text was not kept.", reviewBytes)
	case e.before == nil:
		f.State, f.WhyNot = contract.EditNew, "This file is new. Delete it yourself if you do not want it."
	case d.text == nil:
		f.State, f.WhyNot = contract.EditModified, "This file is no text, or too large to be shown."
	case *e.before == *d.text:
		f.State, f.WhyNot = contract.EditUnchanged, "This file is as it was before the first edit."
	default:
		f.State, f.CanUndo = contract.EditModified, true
	}
	if d.there && d.text == nil {
		f.View = contract.ViewSize
		out.Before = nil
	}
	if d.text != nil && (e.has && !e.tooLarge) {
		f.LinesAdded, f.LinesRemoved = tool.ChangedLines(e.before, *d.text)
		rows := strings.Count(*d.text, "\n")
		if e.before != nil {
			rows = max(rows, strings.Count(*e.before, "\n"))
		}
		if rows > plainRows {
			f.View = contract.ViewPlain
		}
	}
	if !d.there && e.before != nil {
		f.LinesAdded, f.LinesRemoved = tool.ChangedLines(e.before, "")
	}
	out.File = f
	return out
}

// undo writes a file as it was, or with some hunks undone. It never overwrites
// what the person has not seen, and takes back whole only what nobody else has
// changed since.
func (a *actor) undo(node gen.Node, r review, p contract.UndoEditParams) func(time.Time) msg.Reply {
	e, failure := r.one(node, p.Path)
	if failure != nil {
		return replied(nil, failure)
	}
	now := r.compare(e)
	conflict := func(format string, args ...any) func(time.Time) msg.Reply {
		return replied(nil, contract.Fail(contract.CodeConflict, format, args...))
	}
	switch {
	case !now.File.CanUndo:
		return conflict("%s", now.File.WhyNot)
	case p.Hash != now.File.Hash:
		return conflict("%s was changed since you looked at it. Look again before you undo.", p.Path)
	case now.File.EditedOutside && p.MergedContent == nil:
		return conflict("%s was edited outside of this conversation since the agent's last edit. Undo single changes, so that nothing of that is lost.", p.Path)
	}
	text := *e.before
	if p.MergedContent != nil {
		if text = *p.MergedContent; len(text) > 2*reviewBytes || !utf8.ValidString(text) {
			return replied(nil, contract.BadParam("merged_content", "want text of at most %d bytes", 2*reviewBytes))
		}
	}
	if err := rewrite(r, p.Path, p.Hash, text); err != nil {
		return conflict("%s could not be restored: %s", p.Path, err)
	}
	outside := now.File.EditedOutside
	if e.written = hashOf(text); outside {
		e.written = r.written[e.path] // Their change is still in it.
	}
	shown := r.compare(e)
	return func(at time.Time) msg.Reply {
		if !outside {
			a.core.wrote(e.path, e.written)
		}
		a.core.say(contract.WhatUpdated, map[string]any{contract.PatchEdits: true})
		return msg.Reply{Result: shown}
	}
}

// rewrite replaces a file whose content has the given hash. Its mode stays. A
// link is followed, but not out of the project for a path inside it.
func rewrite(r review, path, hash, text string) error {
	target, err := filepath.EvalSymlinks(r.at(path))
	if err != nil {
		return errors.New("it cannot be opened")
	}
	if !filepath.IsAbs(path) {
		if rel, err := filepath.Rel(real(r.project), target); err != nil || !filepath.IsLocal(rel) {
			return errors.New("it is a link that leads out of the project")
		}
	}
	info, err := os.Stat(target)
	if err != nil {
		return errors.New("it cannot be opened")
	}
	f, err := os.CreateTemp(filepath.Dir(target), config.TempPrefix+"*")
	if err != nil {
		return errors.New("its folder cannot be written")
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && readDisk(target).hash != hash {
		err = errors.New("it was changed in this very moment; look again")
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return nil
}

// hashFile asks for the hash of files that the agent has just written.
type hashFile struct{ paths []string }

// wrote brings it.
type fileWritten struct{ path, hash string }

// noteWritten asks for the hashes of what a settled call has written.
func (c *core) noteWritten(id string) {
	if call := c.call(id); call != nil {
		if paths := c.writes(call); len(paths) > 0 {
			c.do(hashFile{paths})
		}
	}
}

// hashFiles reads the files beside the mailbox.
func (a *actor) hashFiles(paths []string) {
	r := review{project: a.core.rec.ProjectPath}
	node, self := a.Node(), a.PID()
	go func() {
		defer func() { _ = recover() }() // A file without a hash is not guarded.
		for _, path := range paths {
			_ = node.Send(self, fileWritten{path, readDisk(r.at(path)).hash})
		}
	}()
}

// wrote keeps the hash of a file as it was last written on purpose.
func (c *core) wrote(path, hash string) {
	if c.rec == nil || c.oneShotOnly || hash == "" || c.rec.WrittenFiles[path] == hash {
		return
	}
	next := maps.Clone(c.rec.WrittenFiles)
	if next == nil {
		next = map[string]string{}
	}
	if _, known := next[path]; !known && len(next) >= maxWritten {
		return // The first ones stay guarded.
	}
	next[path] = hash
	c.rec.WrittenFiles = next
	c.changes.head = true
	c.do(save{})
}

// setComments replaces the remarks that wait for the next message.
func (c *core) setComments(list []contract.DiffComment) (any, *contract.Failure) {
	if len(list) > maxComments {
		return nil, contract.Fail(contract.CodeOverLimit, "comments: at most %d remarks fit into one message", maxComments)
	}
	var next []contract.RecordComment
	for i, m := range list {
		at := fmt.Sprintf("comments[%d]", i)
		switch {
		case m.ID == "" || len(m.ID) > 64:
			return nil, contract.BadParam(at+".id", "want 1 to 64 bytes")
		case m.Path == "" || len(m.Path) > 4096 || strings.ContainsAny(m.Path, "\n\r"):
			return nil, contract.BadParam(at+".path", "want a path")
		case m.Line < 1:
			return nil, contract.BadParam(at+".line", "want a line number from 1 on")
		case m.Side != contract.SideOld && m.Side != contract.SideNew:
			return nil, contract.BadParam(at+".side", "want old or new")
		case strings.TrimSpace(m.Text) == "" || utf8.RuneCountInString(m.Text) > maxComment:
			return nil, contract.BadParam(at+".text", "want 1 to %d characters", maxComment)
		}
		next = append(next, contract.RecordComment(m))
	}
	c.putComments(next)
	return empty{}, nil
}

func (c *core) putComments(next []contract.RecordComment) {
	c.rec.DiffComments = next
	c.changes.head = true
	c.say(contract.WhatUpdated, map[string]any{contract.PatchComments: c.comments()})
	c.do(save{})
}

// comments are the waiting remarks as a window shows them.
func (c *core) comments() []contract.DiffComment {
	out := make([]contract.DiffComment, 0, len(c.rec.DiffComments))
	for _, m := range c.rec.DiffComments {
		out = append(out, contract.DiffComment(m))
	}
	return out
}

// sendWithComments sends a message behind the remarks that wait for it. They
// are gone once it was taken. Source: ui.md 11.
func (c *core) sendWithComments(now time.Time, text string, images []contract.Attachment) (any, *contract.Failure) {
	if len(c.rec.DiffComments) == 0 {
		return c.send(now, text, images)
	}
	var b strings.Builder
	b.WriteString("File comments:\n")
	for _, m := range c.rec.DiffComments {
		old := ""
		if m.Side == contract.SideOld {
			old = " (before the edit)"
		}
		fmt.Fprintf(&b, "%s:%d%s \u2014 %s\n", m.Path, m.Line, old, strings.Join(strings.Fields(m.Text), " "))
	}
	if strings.TrimSpace(text) != "" {
		b.WriteString("\n" + text)
	}
	result, failure := c.send(now, strings.TrimRight(b.String(), "\n"), images)
	if failure == nil {
		c.putComments(nil)
	}
	return result, failure
}

// removePattern takes a granted pattern back, from the next request on.
func (c *core) removePattern(now time.Time, pattern string) (any, *contract.Failure) {
	i := slices.Index(c.rec.AllowPatterns, pattern)
	if i < 0 {
		return nil, contract.Fail(contract.CodeNotFound, "This conversation has no such pattern.")
	}
	c.rec.AllowPatterns = slices.Delete(slices.Clone(c.rec.AllowPatterns), i, i+1)
	c.patch(now, map[string]any{"allow_patterns": orEmpty(c.rec.AllowPatterns)})
	return empty{}, nil
}
