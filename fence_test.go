// Package packetbench_test is the house's rules in executable form.
//
// TestFence reads every file of the tree with the standard library alone and
// checks it against the tables below. Each rule says why it exists; a failing
// run prints that reason, so a rule can be argued with instead of worked
// around. Bad examples for every rule are in fence_examples_test.go.
//
// Source: docs/architecture.md, "Rooms".
package packetbench_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/packetbench/packetbench"

// room is one row of the import table.
type room struct {
	// dir is the folder; its own subtree is always allowed. A last element "*"
	// stands for any one folder.
	dir string
	// may lists what else of ours it may import: a folder, or a folder and
	// everything below with "/...".
	may []string
	// ergo lists the packages of the framework: "" for none, "..." for all.
	ergo string
	why  string
}

// rooms is searched from the top; the first row whose dir holds the file counts.
var rooms = []room{
	{dir: "config", why: "plain values that every room reads must cost nothing to import"},
	{dir: "contract", why: "every process speaks it, so it must cost nothing to import"},
	{dir: "ui", why: "it embeds the page and knows nothing of the house"},
	{dir: "sidecar", why: "it embeds the Node child and knows nothing of the house"},
	{dir: ".ci", why: "it must run before anything else of the house builds"},
	{dir: "actors/msg", may: []string{"contract/..."}, ergo: "gen", why: "what actors say to each other may name processes, and nothing else of the framework"},
	{dir: "actors/child", may: libraries, why: "a library is testable without a node, so it holds no actor types"},
	{dir: "actors/git", may: append([]string{"actors/child"}, libraries...), why: "a library is testable without a node, so it holds no actor types; git is a process group like every other"},
	{dir: "actors/project", may: libraries, why: "a library is testable without a node, so it holds no actor types"},
	{dir: "actors/turn/llm", may: libraries, why: "a library is testable without a node, so it holds no actor types"},
	{dir: "actors/turn/tool", may: append([]string{"actors/child"}, libraries...), why: "a library is testable without a node, so it holds no actor types; a command it runs is a process group like every other"},
	{dir: "actors/turn/hook", may: append([]string{"actors/child"}, libraries...), why: "a library is testable without a node, so it holds no actor types; a command it runs is a process group like every other"},
	{dir: "actors/*", may: append([]string{"actors/msg", "actors/child", "actors/turn/llm", "actors/turn/tool"}, libraries...), ergo: "...", why: "an actor is started by others and never starts the house; what it wants of another actor it says in a message"},
	{dir: "supervisors", may: append([]string{"actors/..."}, libraries...), ergo: "...", why: "a supervisor decides who restarts whom and runs no work of its own"},
	{dir: "apps", may: []string{"..."}, ergo: "...", why: "wiring may see everything; nothing may see the wiring"},
}

var libraries = []string{"contract/...", "config"}

// technology is one row of "one technology per room".
type technology struct {
	mod   string   // import path prefix
	in    []string // folders whose product code may import it
	tests []string // folders whose tests may import it too
	why   string
}

const anywhere = "."

var technologies = []technology{
	{mod: "github.com/nats-io/nats-server/v2", in: []string{"actors/bus"}, tests: []string{"actors/bridge", "apps"}, why: "the bus is the only room that knows which server carries the log"},
	{mod: "github.com/nats-io/nats.go", in: []string{"actors/bus", "actors/bridge"}, tests: []string{"apps", "contract/conformance"}, why: "the bus owns the log and the bridge answers command.>; everyone else publishes through msg.Publisher"},
	{mod: "github.com/coder/websocket", in: []string{"actors/bridge", "apps/packetbench"}, tests: []string{"apps"}, why: "the bridge is the door and the thin clients knock on it; nobody else speaks WebSocket"},
	{mod: "github.com/creack/pty", in: []string{"actors/terminal"}, why: "a PTY has rules of its own about closing and blocking, kept in one place"},
	{mod: "github.com/zalando/go-keyring", in: []string{"actors/secret"}, why: "a secret has one way in and one way out"},
	{mod: "filippo.io/age", in: []string{"actors/secret"}, why: "a secret has one way in and one way out"},
	{mod: "github.com/mark3labs/mcp-go", in: []string{"actors/mcp"}, why: "MCP is one protocol among several; its types stop here"},
	{mod: "github.com/tmaxmax/go-sse", in: []string{"actors/turn/llm"}, tests: []string{"actors/bridge", "apps"}, why: "provider streams are decoded in one room"},
	{mod: "charm.land/catwalk", in: []string{"actors/turn/llm"}, why: "the catalogue's shape is not ours and is translated where it is read"},
	{mod: "mvdan.cc/sh/v3", in: []string{"actors/conversation", "actors/turn/tool"}, why: "patterns are derived by the conversation, provenance by the tool; a third reader would judge commands differently"},
	{mod: "github.com/google/renameio/v2", in: []string{"actors/store"}, why: "the store is the single writer of state"},
	{mod: "github.com/prometheus", in: []string{"actors/bridge"}, why: "metrics are a door; the rooms push plain facts"},
	{mod: "github.com/alecthomas/kong", in: []string{"apps"}, why: "only the wiring reads flags"},
	{mod: "golang.org/x/term", in: []string{"apps"}, why: "only the wiring talks to the person's own terminal"},
	{mod: "github.com/JohannesKaufmann/html-to-markdown/v2", in: []string{"actors/turn/tool"}, why: "web_fetch is its one use"},
	{mod: "github.com/bmatcuk/doublestar/v4", in: []string{"actors/turn/tool"}, why: "workspace globs are its one use"},
	{mod: "github.com/aymanbagabas/go-udiff", in: []string{"actors/turn/tool", "actors/conversation"}, why: "diffs are made where edits are proposed and decided"},
	{mod: "github.com/cenkalti/backoff/v5", in: []string{"actors"}, why: "waits between tries belong to whoever tries; supervisors have their own window"},
	{mod: "golang.org/x/net", in: []string{"actors", "apps"}, why: "the standard library's second half, not for the language of the house"},
	{mod: "golang.org/x/sys", in: []string{"actors", "apps"}, why: "the standard library's second half, not for the language of the house"},
	{mod: "go.uber.org/goleak", tests: []string{anywhere}, why: "a leak detector belongs to tests"},
}

// finding is one broken rule at one place.
type finding struct{ at, what, why string }

func (f finding) String() string { return f.at + ": " + f.what + "\n\twhy: " + f.why }

// source is one Go file of the tree.
type source struct {
	path, dir string
	test      bool
	file      *ast.File
	set       *token.FileSet
}

func (s source) at(p token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(p).Line)
}

// house is the tree as the rules see it.
type house struct {
	sources []source
	texts   map[string][]byte // every text file, Go included
	paths   []string          // keys of texts, sorted
}

// rule is one check over the whole tree. The reason is given by the check with
// each finding, since a table's rows have reasons of their own.
type rule struct {
	name  string
	check func(house) []finding
}

var rules = []rule{
	{"imports", checkImports},
	{"technology", checkTechnology},
	{"test packages", checkTestPackages},
	{"package comment", checkPackageComment},
	{"package name", checkPackageName},
	{"wire name", checkWireName},
	{"cut prefix", checkCutPrefix},
	{"pure files", checkPureFiles},
	{"framework traps", checkTraps},
	{"leak check", checkLeakCheck},
	{"conformance name", checkConformanceName},
	{"unfinished", checkUnfinished},
	{"machine", checkMachine},
}

func TestFence(t *testing.T) {
	t.Parallel()
	h, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.sources) < 2 {
		t.Fatalf("the fence sees %d Go files: it is not run in the root of the tree", len(h.sources))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, f := range r.check(h) {
				t.Error(f)
			}
		})
	}
}

// unwatched are folders of other people's files and of what was built. They
// are the ones that .gitignore names, and git's own.
var unwatched = map[string]bool{".git": true, "node_modules": true, "bin": true, "tmp": true, "dist": true, "shots": true}

// maxText is the size in bytes above which a file is data and not text.
const maxText = 4 << 20

func load(tree fs.FS) (house, error) {
	h := house{texts: map[string][]byte{}}
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if unwatched[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
			return err
		}
		raw, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		if bytes.IndexByte(raw, 0) >= 0 {
			return nil
		}
		h.texts[p] = raw
		h.paths = append(h.paths, p)
		if path.Ext(p) != ".go" || strings.Contains(p, "testdata/") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, p, raw, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("%s does not parse: %w", p, err)
		}
		h.sources = append(h.sources, source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), file: file, set: set})
		return nil
	})
	sort.Strings(h.paths)
	return h, err
}

// within reports whether dir is base or below it; a last element "*" of base
// stands for any one folder.
func within(dir, base string) bool {
	if base == anywhere {
		return true
	}
	if parent, ok := strings.CutSuffix(base, "/*"); ok {
		return strings.HasPrefix(dir, parent+"/")
	}
	return dir == base || strings.HasPrefix(dir, base+"/")
}

func withinAny(dir string, bases []string) bool {
	for _, b := range bases {
		if within(dir, b) {
			return true
		}
	}
	return false
}

// testPackage reports whether a folder holds fakes for tests: its name ends
// with "test", as in net/http/httptest.
func testPackage(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") }

// outside splits an import path: ours is the folder inside the module, third is
// set for other people's modules, neither for the standard library.
func outside(imported string) (ours string, third bool) {
	if imported == module {
		return anywhere, false
	}
	if dir, ok := strings.CutPrefix(imported, module+"/"); ok {
		return dir, false
	}
	first, _, _ := strings.Cut(imported, "/")
	return "", strings.Contains(first, ".")
}

const ergo = "ergo.services/ergo"

func roomOf(dir string) (room, bool) {
	for _, r := range rooms {
		if within(dir, r.dir) {
			return r, true
		}
	}
	return room{}, false
}

// mayImport reports whether a file in dir, of room r, may import ours.
func (r room) mayImport(dir, ours string) bool {
	own := r.dir
	if parent, ok := strings.CutSuffix(r.dir, "/*"); ok { // the one actor, not all of them
		own = parent + "/" + strings.Split(strings.TrimPrefix(dir, parent+"/"), "/")[0]
	}
	if within(ours, own) {
		return true
	}
	for _, m := range r.may {
		base, below := strings.CutSuffix(m, "...")
		base = strings.TrimSuffix(base, "/")
		if ours == base || below && (base == "" || within(ours, base)) {
			return true
		}
	}
	return false
}

func checkImports(h house) (found []finding) {
	for _, s := range h.sources {
		r, ok := roomOf(s.dir)
		if !ok {
			if s.dir != anywhere {
				found = append(found, finding{s.path, "no room of the import table holds this folder", "a new folder says first what it may import"})
			}
			continue
		}
		for _, i := range s.file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			if imported == "C" {
				found = append(found, finding{s.at(i.Pos()), "imports C", "the program is built for three systems without a C compiler"})
				continue
			}
			if ours, _ := outside(imported); ours != "" {
				fakes := s.test && testPackage(ours)
				if !fakes && !r.mayImport(s.dir, ours) {
					found = append(found, finding{s.at(i.Pos()), r.dir + " may not import " + ours, r.why})
				}
				continue
			}
			if imported != ergo && !strings.HasPrefix(imported, ergo+"/") {
				continue
			}
			switch {
			case r.ergo == "...":
			case r.ergo != "" && imported == ergo+"/"+r.ergo:
			default:
				found = append(found, finding{s.at(i.Pos()), r.dir + " may not import " + imported, r.why})
			}
		}
	}
	return found
}

func checkTechnology(h house) (found []finding) {
	for _, s := range h.sources {
		for _, i := range s.file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			if _, third := outside(imported); !third || imported == ergo || strings.HasPrefix(imported, ergo+"/") {
				continue
			}
			known := false
			for _, t := range technologies {
				if imported != t.mod && !strings.HasPrefix(imported, t.mod+"/") {
					continue
				}
				known = true
				if withinAny(s.dir, t.in) || (s.test || testPackage(s.dir)) && withinAny(s.dir, t.tests) {
					break
				}
				found = append(found, finding{s.at(i.Pos()), imported + " belongs to " + strings.Join(append(append([]string{}, t.in...), t.tests...), ", "), t.why})
				break
			}
			if !known {
				found = append(found, finding{s.at(i.Pos()), imported + " has no room", "every dependency is named with the one room that would change if it were replaced"})
			}
		}
	}
	return found
}

func checkTestPackages(h house) (found []finding) {
	for _, s := range h.sources {
		if s.test || testPackage(s.dir) {
			continue
		}
		for _, i := range s.file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			if ours, _ := outside(imported); ours != "" && testPackage(ours) {
				found = append(found, finding{s.at(i.Pos()), "product code imports " + ours, "a fake in the product is a path that nobody tested for real"})
			}
		}
	}
	return found
}

func checkPackageComment(h house) (found []finding) {
	const why = "a package opens with what a subscriber needs: what it owns, promises and asks; two such comments drift apart"
	comments := map[string][]source{}
	names := map[string]string{}
	for _, s := range h.sources {
		if s.test {
			continue
		}
		names[s.dir] = s.file.Name.Name
		if s.file.Doc != nil {
			comments[s.dir] = append(comments[s.dir], s)
		}
	}
	dirs := make([]string, 0, len(names))
	for d := range names {
		dirs = append(dirs, d)
	}
	sort.Strings(dirs)
	for _, d := range dirs {
		switch c := comments[d]; {
		case len(c) == 0:
			found = append(found, finding{d, "package " + names[d] + " has no package comment", why})
		case len(c) > 1:
			found = append(found, finding{c[1].path, "package " + names[d] + " has a second package comment, the first is in " + c[0].path, why})
		case names[d] != "main" && !strings.HasPrefix(c[0].file.Doc.Text(), "Package "+names[d]+" "):
			found = append(found, finding{c[0].path, "the package comment does not begin with \"Package " + names[d] + " \"", why})
		}
	}
	return found
}

var vague = regexp.MustCompile(`^(utils?|commons?|helpers?|managers?|misc|shared)(_test)?$`)

func checkPackageName(h house) (found []finding) {
	for _, s := range h.sources {
		if name := s.file.Name.Name; vague.MatchString(name) || vague.MatchString(path.Base(s.dir)) {
			found = append(found, finding{s.path, "package " + name + " says nothing about what it holds", "a vague name collects whatever has no home; name the noun"})
		}
	}
	return found
}

// wire is the first token of the conversation subjects. It is split here
// because this file lies outside contract, too.
const wire = "api" + "-agent"

// spelling are the rooms whose tests spell wire names out: they play a program
// outside the house, which would type them, or feed the bus a malformed one,
// which no helper builds.
var spelling = []string{"actors/bridge", "actors/bus", "apps"}

func checkWireName(h house) (found []finding) {
	const why = "names on the wire are built by the contract's helpers, which refuse a malformed id; the bus would accept it silently"
	for _, s := range h.sources {
		if within(s.dir, "contract") || s.test && withinAny(s.dir, spelling) || s.dir == anywhere {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, wire) {
				found = append(found, finding{s.at(l.Pos()), "literal " + l.Value, why})
			}
			return true
		})
	}
	for _, p := range h.paths {
		if !typescript(p) || within(p, "ui/src/contract") || p == "sidecar/src/contract.gen.ts" || strings.HasPrefix(p, "ui/e2e/") || tsTest.MatchString(p) {
			continue
		}
		for i, line := range strings.Split(uncommented(h.texts[p]), "\n") {
			if strings.Contains(line, wire) {
				found = append(found, finding{p + ":" + strconv.Itoa(i+1), "literal " + wire, why})
			}
		}
	}
	return found
}

// rowPrefix begins the ids of most provider rows; cutting it off was how other
// programs derived one id space from another.
const rowPrefix = "api" + "-"

var tsCut = regexp.MustCompile(`\.(replace|replaceAll|slice|substring|split)\(\s*(["'` + "`" + `]|/\^?)` + rowPrefix + `|["'` + "`" + `]` + rowPrefix + `["'` + "`" + `]\.length`)

func checkCutPrefix(h house) (found []finding) {
	const why = "row, provider and ledger ids are separate spaces joined by one table in contract; an id derived from another's spelling bills the wrong account"
	for _, s := range h.sources {
		if s.dir == anywhere {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !cuts(call.Fun) {
				return true
			}
			for _, a := range call.Args {
				if l, ok := a.(*ast.BasicLit); ok && l.Kind == token.STRING {
					if v, err := strconv.Unquote(l.Value); err == nil && v == rowPrefix {
						found = append(found, finding{s.at(l.Pos()), "cuts " + l.Value + " off an id", why})
					}
				}
			}
			return true
		})
	}
	for _, p := range h.paths {
		if !typescript(p) {
			continue
		}
		for i, line := range strings.Split(uncommented(h.texts[p]), "\n") {
			if tsCut.MatchString(line) {
				found = append(found, finding{p + ":" + strconv.Itoa(i+1), "cuts " + rowPrefix + " off an id", why})
			}
		}
	}
	return found
}

// cuts reports whether fun is one of the ways to take a prefix off a string:
// those of package strings, and len for a slice expression.
func cuts(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name == "len"
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		if !ok || pkg.Name != "strings" && pkg.Name != "bytes" {
			return false
		}
		switch f.Sel.Name {
		case "TrimPrefix", "CutPrefix", "TrimLeft", "Replace", "ReplaceAll", "Cut", "SplitN", "After":
			return true
		}
	}
	return false
}

var pure = map[string]bool{"translate.go": true, "decode.go": true, "window.go": true}

func checkPureFiles(h house) (found []finding) {
	for _, s := range h.sources {
		if !pure[path.Base(s.path)] {
			continue
		}
		for _, i := range s.file.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			switch {
			case imported == ergo, strings.HasPrefix(imported, ergo+"/"), imported == "log/slog", imported == "log", imported == "os", imported == "net":
				found = append(found, finding{s.at(i.Pos()), path.Base(s.path) + " imports " + imported, "translation and windows are pure: no clock, no I/O, no logger, no framework, so that a table test covers them"})
			}
		}
	}
	return found
}

// traps are names of the framework that were tried and found to bite.
// Source: docs/adr/0001-ergo-temporary-supervisors.md.
var traps = map[string]string{
	"SupervisorStrategyTransient": "automatic restart has no backoff, ends with its budget, and a named restart can lose the race for its own name and take the supervisor along",
	"SupervisorStrategyPermanent": "automatic restart has no backoff, ends with its budget, and a named restart can lose the race for its own name and take the supervisor along",
	"DisableChild":                "after the last child is disabled the supervisor stays busy for ever",
	"AddChild":                    "dynamic children are started by key under one spec; specs that pile up are never removed",
	"SetCTRLC":                    "the program dies on the next signal with a send on a closed channel",
	"CreatePort":                  "the framework's port meta knows neither process groups nor back-pressure; actors/child does",
	"RegisterEvent":               "NATS is the event bus; a second one would have an order of its own",
	"LinkEvent":                   "NATS is the event bus; a second one would have an order of its own",
	"MonitorEvent":                "NATS is the event bus; a second one would have an order of its own",
	"SendEvent":                   "NATS is the event bus; a second one would have an order of its own",
}

func checkTraps(h house) (found []finding) {
	for _, s := range h.sources {
		if !importsErgo(s.file) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if why, bad := traps[sel.Sel.Name]; bad {
					found = append(found, finding{s.at(sel.Sel.Pos()), "uses " + sel.Sel.Name, why})
				}
			}
			return true
		})
	}
	return found
}

func importsErgo(f *ast.File) bool {
	for _, i := range f.Imports {
		if strings.HasPrefix(i.Path.Value, `"`+ergo) {
			return true
		}
	}
	return false
}

func checkLeakCheck(h house) (found []finding) {
	starts := map[string]string{} // folder to the first goroutine of its product code
	checked := map[string]bool{}
	for _, s := range h.sources {
		for _, i := range s.file.Imports {
			if s.test && i.Path.Value == `"go.uber.org/goleak"` {
				checked[s.dir] = true
			}
		}
		if s.test || testPackage(s.dir) || starts[s.dir] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && starts[s.dir] == "" {
				starts[s.dir] = s.at(g.Pos())
			}
			return true
		})
	}
	for dir, at := range starts {
		if !checked[dir] {
			found = append(found, finding{at, "starts a goroutine, and no test of " + dir + " uses goleak", "nothing outlives its owner, and only a leak check in TestMain notices that something did"})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].at < found[j].at })
	return found
}

func checkConformanceName(h house) (found []finding) {
	for _, s := range h.sources {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || strings.HasPrefix(fn.Name.Name, "TestConformance") || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Run" {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "conformance" {
					found = append(found, finding{s.at(sel.Pos()), fn.Name.Name + " runs the suite", "make conformance finds the suite by the name TestConformance..., and the unit ring leaves those out"})
				}
				return true
			})
		}
	}
	return found
}

// A string that is nothing but one of the words is data, a prompt of a test say.
var quotedWord = regexp.MustCompile("'[A-Z]+'|\"[A-Z]+\"|`[A-Z]+`")

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b|(?i:not (yet )?impl` + `emented)`)

func checkUnfinished(h house) (found []finding) {
	for _, p := range h.paths {
		if path.Ext(p) != ".go" && !typescript(p) || strings.Contains(p, "testdata/") {
			continue
		}
		for i, line := range strings.Split(string(h.texts[p]), "\n") {
			if m := unfinished.FindString(quotedWord.ReplaceAllString(line, "''")); m != "" {
				found = append(found, finding{p + ":" + strconv.Itoa(i+1), m, "a known gap is a comment \"Gap: ...\" with an issue or ADR number; a stub is not merged"})
			}
		}
	}
	return found
}

// The words below are split so that this file does not break its own rule.
var (
	machinePath  = regexp.MustCompile("(?:^|[\\s\"'`=:(,])/(?:wo" + "rk|ro" + "ot)(?:/|[\\s\"'`),;:]|$)")
	registryHost = regexp.MustCompile(`registry\.` + `npmjs\.org|registry\.` + `yarnpkg\.com|proxy\.` + `golang\.org|sum\.` + `golang\.org|(?:deb|security)\.` + `debian\.org|"resolved": *"http`)
)

func checkMachine(h house) (found []finding) {
	for _, p := range h.paths {
		for i, line := range bytes.Split(h.texts[p], []byte("\n")) {
			at := p + ":" + strconv.Itoa(i+1)
			if m := machinePath.Find(line); m != nil {
				found = append(found, finding{at, "path of one machine: " + strconv.Quote(string(m)), "the tree must build and read the same wherever it is cloned"})
			}
			if m := registryHost.Find(line); m != nil {
				found = append(found, finding{at, "registry host: " + strconv.Quote(string(m)), "which mirror serves a package is the affair of the machine that fetches it"})
			}
		}
	}
	return found
}

var tsTest = regexp.MustCompile(`\.test\.tsx?$|^(ui|sidecar)/test/`)

// typescript reports whether p is source of the page or of the sidecar.
func typescript(p string) bool {
	switch path.Ext(p) {
	case ".ts", ".tsx", ".mts", ".js", ".mjs":
		return strings.HasPrefix(p, "ui/") || strings.HasPrefix(p, "sidecar/")
	}
	return false
}

// uncommented blanks the comments of a TypeScript file and keeps its lines. It
// knows strings, not regular expressions: a quote inside one ends at the line.
func uncommented(src []byte) string {
	var b strings.Builder
	const (
		code = iota
		line
		block
	)
	state, quote := code, byte(0)
	for i := 0; i < len(src); i++ {
		c := src[i]
		next := byte(0)
		if i+1 < len(src) {
			next = src[i+1]
		}
		switch {
		case c == '\n':
			if state == line {
				state = code
			}
			if quote != '`' {
				quote = 0
			}
			b.WriteByte(c)
		case state == line:
		case state == block:
			if c == '*' && next == '/' {
				state = code
				i++
			}
		case quote != 0:
			b.WriteByte(c)
			if c == '\\' && next != 0 && next != '\n' {
				b.WriteByte(next)
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '/' && next == '/':
			state = line
		case c == '/' && next == '*':
			state = block
			i++
		default:
			if c == '"' || c == '\'' || c == '`' {
				quote = c
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}
