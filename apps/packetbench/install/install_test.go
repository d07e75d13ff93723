package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/packetbench/packetbench/actors/sidecar"
	"github.com/packetbench/packetbench/contract"
	bundle "github.com/packetbench/packetbench/sidecar"
)

// rig is a root to install into, with fakes.
type rig struct {
	t    *testing.T
	dir  string
	opts Options
}

// ready is the frame of a child that speaks version v.
func ready(v int) string {
	return fmt.Sprintf(`{"type":"ready","pid":1,"version":"0.1.0","protocolVersion":%d}`, v)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	for _, name := range []string{"node", "npm"} {
		if err := os.Symlink(self, filepath.Join(r.dir, name+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	files := fstest.MapFS{"dist/index.js": {Data: []byte("// the sidecar\n")}, "dist/providers/echo.js": {Data: []byte("// a part of it\n")}}
	for _, name := range []string{"package.json", "package-lock.json"} {
		body, err := fs.ReadFile(bundle.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: body}
	}
	r.opts = Options{
		Files: files, Version: "1.2.3-abc", Root: filepath.Join(r.dir, "data", "sidecar"), Wanted: SDKs,
		Node: filepath.Join(r.dir, "node"+suffix), NPM: filepath.Join(r.dir, "npm"+suffix),
		Env: append(os.Environ(), "HTTPS_PROXY=http://proxy.test", "ANTHROPIC_API_KEY=sk-secret"),
	}
	r.plays(nil)
	return r
}

// plays sets what the fakes do; nil changes nothing of a good machine.
func (r *rig) plays(change func(*act)) {
	r.t.Helper()
	a := act{Version: "22.1.0", Ready: []string{ready(contract.SidecarProtocol)}, Exit: -1}
	if change != nil {
		change(&a)
	}
	body, err := json.Marshal(a)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "act.json"), body, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// has fails unless the root holds exactly these folders.
func (r *rig) has(names ...string) {
	r.t.Helper()
	slices.Sort(names)
	entries, _ := os.ReadDir(r.opts.Root)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		r.t.Errorf("%s holds %v; want %v", r.opts.Root, got, names)
	}
}

func (r *rig) install(wanted ...SDK) Result {
	r.t.Helper()
	r.opts.Wanted = wanted
	got, err := Install(r.t.Context(), r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func TestInstall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var heard []Progress
	r.opts.Report = func(p Progress) { heard = append(heard, p) }
	got := r.install(Claude)
	if !got.Fresh || !slices.Equal(got.SDKs, []SDK{Claude}) || got.Node.Version != "22.1.0" || got.Script != sidecar.InstalledScript(filepath.Join(r.dir, "data"), "1.2.3-abc") {
		t.Errorf("%+v", got)
	}
	r.has("1.2.3-abc")
	found := got.Manifest.Look(got.Script)
	if !found[0].Complete() || found[0].Version != got.Manifest.Pin(Claude) || found[1].Complete() {
		t.Errorf("found %+v", found)
	}
	if body, err := os.ReadFile(got.Script); err != nil || string(body) != "// the sidecar\n" {
		t.Errorf("%q, %v", body, err)
	}
	var steps []Step
	for _, p := range heard {
		if len(steps) == 0 || steps[len(steps)-1] != p.Step {
			steps = append(steps, p.Step)
		}
	}
	if !slices.Equal(steps, []Step{StepUnpack, StepFetch, StepVerify, StepPlace}) {
		t.Errorf("steps %v", steps)
	}
	last := heard[len(heard)-3]
	if last.Step != StepFetch || last.Done != last.Total || last.Total < 50 || last.Bytes == 0 {
		t.Errorf("the last report of fetching is %+v", last)
	}

	// The other one comes beside the first, and a third time nothing is fetched.
	if got := r.install(OpenAI); !got.Fresh || !slices.Equal(got.SDKs, SDKs) || !got.Manifest.Look(got.Script)[0].Complete() {
		t.Errorf("%+v", got)
	}
	r.opts.NPM = ""
	if got := r.install(Claude, OpenAI); got.Fresh || !slices.Equal(got.SDKs, SDKs) {
		t.Errorf("%+v", got)
	}
	r.has("1.2.3-abc")
}

// TestInstall_MendsDamage: what is there and does not run is fetched again.
func TestInstall_MendsDamage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.install(OpenAI)
	for name, damage := range map[string]func() error{
		"package gone": func() error {
			return os.RemoveAll(filepath.Join(r.opts.Root, "1.2.3-abc", "node_modules", "zod"))
		},
		"another version": func() error {
			return os.WriteFile(filepath.Join(r.opts.Root, "1.2.3-abc", "node_modules", "@openai", "agents", "package.json"), []byte(`{"version":"0.0.1"}`), 0o600)
		},
		"script gone": func() error { return os.Remove(got.Script) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if again := r.install(OpenAI); !again.Fresh || !again.Manifest.Look(again.Script)[1].Complete() {
			t.Errorf("%s: %+v", name, again)
		}
	}
	r.has("1.2.3-abc")
}

// TestInstall_Failures: each failure is one sentence that says what to do, and
// what was installed before is as it was.
func TestInstall_Failures(t *testing.T) {
	t.Parallel()
	npm := func(lines ...string) func(*rig) {
		return func(r *rig) { r.plays(func(a *act) { a.NPM = lines }) }
	}
	for _, tc := range []struct {
		name  string
		spoil func(*rig)
		want  []string
	}{
		{"no Node", func(r *rig) { r.opts.Node = "" }, []string{"Node was not found", "Install Node 20.19 or newer"}},
		{"Node gone", func(r *rig) { r.opts.Node = filepath.Join(r.dir, "nothing") }, []string{"could not be asked for its version", "Install Node 20.19"}},
		{"Node broken", func(r *rig) { r.plays(func(a *act) { a.Version = "" }) }, []string{"could not be asked for its version: node: broken"}},
		{"Node too old", func(r *rig) { r.plays(func(a *act) { a.Version = "20.18.3" }) }, []string{"Node 20.18.3", "too old", "20.19 is the oldest"}},
		{"no npm", func(r *rig) { r.opts.NPM = "" }, []string{"npm was not found", "put it on PATH"}},
		{"npm gone", func(r *rig) { r.opts.NPM = filepath.Join(r.dir, "nothing") }, []string{"could not be started", "Put a working npm on PATH"}},
		{"no network", npm("npm error code ENOTFOUND", "npm error network request to http://u:p@host/zod failed"), []string{"(npm: ENOTFOUND)", "Check the network"}},
		{"disk full", npm("npm error code ENOSPC"), []string{"no space left on the disk", "Free some space"}},
		{"wrong content", npm("npm error code EINTEGRITY"), []string{"npm cache clean --force"}},
		{"something else", npm("npm error Exit handler never called for //me:word@host/x."), []string{"npm said: Exit handler never called for //host/x."}},
		{"no optional packages", func(r *rig) { r.plays(func(a *act) { a.LeaveOut = "claude-agent-sdk-" }) }, []string{"npm left out", "Claude Agent SDK may not exist for this system"}},
		{"older protocol", func(r *rig) { r.plays(func(a *act) { a.Ready = []string{ready(10)} }) }, []string{"speaks protocol 10", "make build"}},
		// F25: the text of a launcher that fails is in the error.
		{"child fails", func(r *rig) {
			r.plays(func(a *act) {
				a.Ready, a.Exit, a.Stderr = nil, 3, "index.js:1\nSyntaxError: no such export\n\nNode.js v22\n"
			})
		}, []string{"does not start", "exit 3", "SyntaxError: no such export", "Run this again"}},
		{"SDK does not load", func(r *rig) {
			r.plays(func(a *act) { a.Unloadable = map[string]string{"@openai/agents": "bad platform"} })
		}, []string{"cannot be loaded: the OpenAI Agents SDK: bad platform"}},
		{"root is a file", func(r *rig) {
			r.opts.Root = filepath.Join(r.dir, "act.json")
		}, []string{"could not be unpacked", "run this again"}},
		{"package.json damaged", func(r *rig) {
			r.opts.Files.(fstest.MapFS)["package.json"] = &fstest.MapFile{Data: []byte("{")}
		}, []string{"package.json of the sidecar"}},
		{"lockfile damaged", func(r *rig) {
			r.opts.Files.(fstest.MapFS)["package-lock.json"] = &fstest.MapFile{Data: []byte(`{"packages":{}}`)}
		}, []string{"lockfile of the sidecar is damaged"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.install(OpenAI)
			root := r.opts.Root
			tc.spoil(r)
			r.opts.Wanted = SDKs
			got, err := Install(t.Context(), r.opts)
			if err == nil {
				t.Fatalf("no error: %+v", got)
			}
			for _, want := range append(tc.want, "") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "u:p") || strings.Contains(err.Error(), "me:word") || strings.Contains(err.Error(), "sk-secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
			r.opts.Root = root
			r.has("1.2.3-abc")
			r.plays(nil)
			m, err := ReadManifest(bundle.Files())
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(t.Context(), m, filepath.Join(r.dir, "node"), filepath.Join(root, "1.2.3-abc"), []SDK{OpenAI}); err != nil {
				t.Errorf("what was there does not run any more: %v", err)
			}
		})
	}
}

// TestInstall_Interrupted: npm is ended, and nothing half-installed is left.
func TestInstall_Interrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.plays(func(a *act) { a.Hang = true })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.opts.Report = func(p Progress) {
		if p.Step == StepFetch && p.Done == p.Total {
			cancel()
		}
	}
	if _, err := Install(ctx, r.opts); !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	r.has()
	cancel()
	if _, err := Install(ctx, r.opts); !errors.Is(err, ErrInterrupted) {
		t.Errorf("interrupted at once: %v", err)
	}
}

// TestInstall_AfterAKill: what a killed run left is removed, what it had moved
// aside is put back, and what a living one has is left alone.
func TestInstall_AfterAKill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.install(OpenAI)
	at := func(name string) string { return filepath.Join(r.opts.Root, name) }
	const dead = "1073741824-1"
	for _, name := range []string{unfinished + dead, replaced + "0.9." + dead, unfinished + "mine"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(at("1.2.3-abc"), at(replaced+"1.2.3-abc."+dead)); err != nil {
		t.Fatal(err)
	}
	if got := r.install(OpenAI); got.Fresh {
		t.Error("the folder that was moved aside was not put back")
	}
	r.has(unfinished+"mine", "0.9", "1.2.3-abc")
	// Killed after the second rename: the old one goes.
	if err := os.Mkdir(at(replaced+"1.2.3-abc."+dead), 0o700); err != nil {
		t.Fatal(err)
	}
	alive := unfinished + owner()
	if err := os.Mkdir(at(alive), 0o700); err != nil {
		t.Fatal(err)
	}
	r.install(OpenAI)
	r.has(unfinished+"mine", alive, "0.9", "1.2.3-abc")
}

// TestInstall_PutsBack: when the new folder cannot be put in place the old one
// is there again.
func TestInstall_PutsBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.install(OpenAI)
	if err := r.opts.place(filepath.Join(r.opts.Root, "nothing")); err == nil {
		t.Fatal("a folder that is not there was put in place")
	}
	r.has("1.2.3-abc")
}

func TestOlder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.install(OpenAI)
	r.opts.Version = "1.2.4-def"
	r.install(OpenAI)
	for _, name := range []string{"mine", ".hidden"} {
		if err := os.Mkdir(filepath.Join(r.opts.Root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := Older(r.opts.Root, "1.2.4-def"); !slices.Equal(got, []string{"1.2.3-abc"}) {
		t.Errorf("removed %v", got)
	}
	r.has(".hidden", "1.2.4-def", "mine")
	if got := Older(filepath.Join(r.dir, "nothing"), "x"); got != nil {
		t.Errorf("removed %v", got)
	}
}
