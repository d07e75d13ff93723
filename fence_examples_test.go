package packetbench_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// goFile is the text of a file with a package comment and imports of our own
// module ("~/x") or others.
func goFile(pkg string, imports ...string) string {
	var b strings.Builder
	b.WriteString("// Package " + pkg + " is an example.\npackage " + pkg + "\n")
	for _, i := range imports {
		if rest, ok := strings.CutPrefix(i, "~/"); ok {
			i = module + "/" + rest
		}
		b.WriteString("import _ \"" + i + "\"\n")
	}
	return b.String()
}

func TestFence_Examples(t *testing.T) {
	t.Parallel()
	type files map[string]string
	examples := []struct {
		rule, name string
		files      files
		want       string // part of the one finding; "" for none
	}{
		{"imports", "contract is plain", files{"contract/a.go": goFile("contract", "encoding/json")}, ""},
		{"imports", "contract imports config", files{"contract/a.go": goFile("contract", "~/config")}, "contract may not import config"},
		{"imports", "contract's own subtree", files{"contract/gen/a.go": goFile("gen", "~/contract", "~/contract/frame")}, ""},
		{"imports", "contract imports ergo", files{"contract/a.go": goFile("contract", "ergo.services/ergo/gen")}, "contract may not import ergo"},
		{"imports", "msg imports gen", files{"actors/msg/a.go": goFile("msg", "ergo.services/ergo/gen", "~/contract")}, ""},
		{"imports", "msg imports act", files{"actors/msg/a.go": goFile("msg", "ergo.services/ergo/act")}, "actors/msg may not import ergo"},
		{"imports", "msg imports config", files{"actors/msg/a.go": goFile("msg", "~/config")}, "actors/msg may not import config"},
		{"imports", "library imports ergo", files{"actors/turn/llm/a.go": goFile("llm", "ergo.services/ergo/gen")}, "may not import ergo"},
		{"imports", "library imports library", files{"actors/turn/llm/a.go": goFile("llm", "~/actors/turn/tool")}, "may not import actors/turn/tool"},
		{"imports", "tools run process groups", files{"actors/turn/tool/a.go": goFile("tool", "~/actors/child", "~/contract")}, ""},
		{"imports", "actor imports what it may", files{"actors/turn/a.go": goFile("turn", "~/contract", "~/config", "~/actors/msg", "~/actors/turn/llm", "~/actors/child", "ergo.services/ergo/act")}, ""},
		{"imports", "actor imports actor", files{"actors/bus/a.go": goFile("bus", "~/actors/store")}, "may not import actors/store"},
		{"imports", "deep actor package imports actor", files{"actors/bus/log/a.go": goFile("log", "~/actors/store")}, "may not import actors/store"},
		{"imports", "actor imports supervisors", files{"actors/bus/a.go": goFile("bus", "~/supervisors")}, "may not import supervisors"},
		{"imports", "actor imports apps", files{"actors/bus/a_test.go": goFile("bus", "~/apps/core")}, "may not import apps/core"},
		{"imports", "actor's test starts a node", files{"actors/bus/a_test.go": goFile("bus", "~/supervisors/nodetest")}, ""},
		{"imports", "actor's product starts a node", files{"actors/bus/a.go": goFile("bus", "~/supervisors/nodetest")}, "may not import supervisors/nodetest"},
		{"imports", "supervisors import actors", files{"supervisors/a.go": goFile("supervisors", "~/actors/bus", "~/config", "ergo.services/ergo/act")}, ""},
		{"imports", "supervisors import the contract", files{"supervisors/a.go": goFile("supervisors", "~/contract", "~/actors/msg")}, ""},
		{"imports", "supervisors import the page", files{"supervisors/a.go": goFile("supervisors", "~/ui")}, "supervisors may not import ui"},
		{"imports", "supervisors import apps", files{"supervisors/a.go": goFile("supervisors", "~/apps/core")}, "supervisors may not import apps/core"},
		{"imports", "apps import everything", files{"apps/core/a.go": goFile("core", "~/supervisors", "~/actors/bus", "~/ui", "~/config", "ergo.services/ergo")}, ""},
		{"imports", "cgo", files{"apps/core/a.go": goFile("core", "C")}, "imports C"},
		{"imports", "a new folder", files{"lib/a.go": goFile("lib")}, "no room"},

		{"technology", "nats in the bus", files{"actors/bus/a.go": goFile("bus", "github.com/nats-io/nats-server/v2/server", "github.com/nats-io/nats.go/jetstream")}, ""},
		{"technology", "nats in the store", files{"actors/store/a.go": goFile("store", "github.com/nats-io/nats.go")}, "belongs to actors/bus"},
		{"technology", "nats server in the bridge", files{"actors/bridge/a.go": goFile("bridge", "github.com/nats-io/nats-server/v2/server")}, "belongs to actors/bus"},
		{"technology", "nats server in the bridge's tests", files{"actors/bridge/a_test.go": goFile("bridge", "github.com/nats-io/nats-server/v2/server")}, ""},
		{"technology", "websocket in a conversation", files{"actors/conversation/a.go": goFile("conversation", "github.com/coder/websocket")}, "belongs to actors/bridge"},
		{"technology", "age outside secret", files{"actors/store/a.go": goFile("store", "filippo.io/age")}, "belongs to actors/secret"},
		{"technology", "x/sys in the contract", files{"contract/a.go": goFile("contract", "golang.org/x/sys/unix")}, "belongs to actors"},
		{"technology", "goleak in the product", files{"actors/bus/a.go": goFile("bus", "go.uber.org/goleak")}, "a leak detector belongs to tests"},
		{"technology", "goleak in a test", files{"config/a_test.go": goFile("config", "go.uber.org/goleak")}, ""},
		{"technology", "unknown module", files{"apps/core/a.go": goFile("core", "example.org/new/thing")}, "has no room"},

		{"test packages", "fake in the product", files{"actors/turn/a.go": goFile("turn", "~/actors/turn/llm/llmtest")}, "product code imports"},
		{"test packages", "fake in a test", files{"actors/turn/a_test.go": goFile("turn", "~/actors/turn/llm/llmtest")}, ""},

		{"package comment", "one", files{"config/a.go": goFile("config"), "config/b.go": "package config\n"}, ""},
		{"package comment", "none", files{"config/a.go": "package config\n"}, "no package comment"},
		{"package comment", "two", files{"config/a.go": goFile("config"), "config/b.go": goFile("config")}, "second package comment"},
		{"package comment", "build tag is not one", files{"config/a.go": "//go:build linux\n\npackage config\n"}, "no package comment"},
		{"package comment", "begins otherwise", files{"config/a.go": "// This is config.\npackage config\n"}, "does not begin"},
		{"package comment", "a program says what it does", files{"apps/x/main.go": "// Command x counts.\npackage main\n"}, ""},

		{"package name", "helpers", files{"actors/helpers/a.go": goFile("helpers")}, "says nothing"},
		{"package name", "util folder", files{"actors/util/a.go": goFile("text")}, "says nothing"},
		{"package name", "noun", files{"actors/bus/a.go": goFile("bus")}, ""},

		{"wire name", "literal", files{"actors/bus/a.go": goFile("bus") + "const s = \"" + wire + ".>\"\n"}, "literal"},
		{"wire name", "comment", files{"actors/bus/a.go": goFile("bus") + "// " + wire + ".chunk is built by contract.Subject.\nconst s = 1\n"}, ""},
		{"wire name", "contract", files{"contract/a.go": goFile("contract") + "const s = \"" + wire + "\"\n"}, ""},
		{"wire name", "client's test", files{"apps/packetbench/a_test.go": goFile("main") + "const s = \"" + wire + ".>\"\n"}, ""},
		{"wire name", "malformed name in the bus's test", files{"actors/bus/a_test.go": goFile("bus") + "const s = \"" + wire + ".chunk.*\"\n"}, ""},
		{"wire name", "room's test", files{"actors/store/a_test.go": goFile("store") + "const s = \"" + wire + ".>\"\n"}, "literal"},
		{"wire name", "page", files{"ui/src/net/a.ts": "const s = `" + wire + ".${kind}`\n"}, "literal"},
		{"wire name", "page's comment", files{"ui/src/net/a.ts": "const u = 'http://x' // " + wire + "\n/* " + wire + " */\n"}, ""},
		{"wire name", "generated", files{"ui/src/contract/gen.ts": "export const s = '" + wire + "'\n"}, ""},
		{"wire name", "page's test", files{"ui/src/net/a.test.ts": "const s = '" + wire + ".chunk.c1'\n"}, ""},

		{"cut prefix", "TrimPrefix", files{"actors/bus/a.go": goFile("bus", "strings") + "var s = strings.TrimPrefix(x, \"" + rowPrefix + "\")\n"}, "off an id"},
		{"cut prefix", "CutPrefix in the contract", files{"contract/a.go": goFile("contract") + "var s, _ = strings.CutPrefix(x, \"" + rowPrefix + "\")\n"}, "off an id"},
		{"cut prefix", "slice", files{"actors/bus/a.go": goFile("bus") + "var s = x[len(\"" + rowPrefix + "\"):]\n"}, "off an id"},
		{"cut prefix", "other prefix", files{"actors/bus/a.go": goFile("bus") + "var s = strings.TrimPrefix(x, \"Bearer \")\n"}, ""},
		{"cut prefix", "page, string", files{"ui/src/store/a.ts": "const p = row.replace(\"" + rowPrefix + "\", '')\n"}, "off an id"},
		{"cut prefix", "page, pattern", files{"ui/src/store/a.ts": "const p = row.replace(/^" + rowPrefix + "/, '')\n"}, "off an id"},
		{"cut prefix", "page, length", files{"ui/src/store/a.ts": "const p = row.slice('" + rowPrefix + "'.length)\n"}, "off an id"},
		{"cut prefix", "page, row by name", files{"ui/src/store/a.ts": "const p = rows['" + rowPrefix + "demo']\n"}, ""},

		{"pure files", "translate with ergo", files{"actors/acp/translate.go": goFile("acp", "ergo.services/ergo/gen")}, "translate.go imports"},
		{"pure files", "window with a logger", files{"supervisors/window.go": goFile("supervisors", "log/slog")}, "window.go imports"},
		{"pure files", "translate with the contract", files{"actors/acp/translate.go": goFile("acp", "~/contract", "strings")}, ""},

		{"framework traps", "automatic restart", files{"supervisors/a.go": goFile("supervisors", "ergo.services/ergo/act") + "var s = act.SupervisorStrategyPermanent\n"}, "SupervisorStrategyPermanent"},
		{"framework traps", "signals", files{"apps/core/a.go": goFile("core", "ergo.services/ergo") + "func f() { node.SetCTRLC(false) }\n"}, "SetCTRLC"},
		{"framework traps", "ours of the same name", files{"actors/mcp/a.go": goFile("mcp") + "func f() { x.AddChild() }\n"}, ""},

		{"leak check", "unchecked", files{"actors/bus/a.go": goFile("bus") + "func f() { go f() }\n"}, "no test of actors/bus uses goleak"},
		{"leak check", "checked", files{"actors/bus/a.go": goFile("bus") + "func f() { go f() }\n", "actors/bus/a_test.go": goFile("bus", "go.uber.org/goleak")}, ""},
		{"leak check", "goroutine of a test", files{"actors/bus/a.go": goFile("bus"), "actors/bus/a_test.go": goFile("bus") + "func f() { go f() }\n"}, ""},

		{"conformance name", "hidden", files{"actors/turn/a_test.go": goFile("turn", "~/contract/conformance") + "func TestWire(t *testing.T) { conformance.Run(t, nil) }\n"}, "TestWire runs the suite"},
		{"conformance name", "named", files{"actors/turn/a_test.go": goFile("turn", "~/contract/conformance") + "func TestConformance(t *testing.T) { conformance.Run(t, nil) }\n"}, ""},

		{"unfinished", "marker", files{"actors/bus/a.go": goFile("bus") + "// TO" + "DO: later.\n"}, "a known gap"},
		{"unfinished", "stub", files{"ui/src/view/a.tsx": "throw new Error('Not impl" + "emented')\n"}, "a stub is not merged"},
		{"unfinished", "data", files{"ui/src/view/a.test.ts": "send('TO" + "DO')\n"}, ""},
		{"unfinished", "quoted comment", files{"ui/src/view/a.ts": "x('A') // TO" + "DO 'B'\n"}, "a known gap"},
		{"unfinished", "gap", files{"actors/bus/a.go": goFile("bus") + "// Gap: issue 9.\n"}, ""},

		{"machine", "home", files{"docs/a.md": "see /ro" + "ot/notes\n"}, "path of one machine"},
		{"machine", "checkout", files{"Makefile": "cd \"/wo" + "rk\" && make\n"}, "path of one machine"},
		{"machine", "registry", files{"ui/.npmrc": "registry=https://registry." + "npmjs.org\n"}, "registry host"},
		{"machine", "lockfile", files{"ui/package-lock.json": "{\"resolved\": \"https://example.org/x.tgz\"}\n"}, "registry host"},
		{"machine", "others' files", files{"ui/node_modules/x/README.md": "see /ro" + "ot/notes\n"}, ""},
		{"machine", "word", files{"docs/a.md": "the network/" + "work/" + "root of it, 1/work\n"}, ""},
	}
	refused := map[string]bool{}
	for _, e := range examples {
		if e.want != "" {
			refused[e.rule] = true
		}
		t.Run(e.rule+"/"+e.name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for p, text := range e.files {
				tree[p] = &fstest.MapFile{Data: []byte(text)}
			}
			h, err := load(tree)
			if err != nil {
				t.Fatal(err)
			}
			var found []finding
			known := false
			for _, r := range rules {
				if r.name == e.rule {
					known = true
					found = r.check(h)
				}
			}
			switch {
			case !known:
				t.Fatalf("no rule %q", e.rule)
			case e.want == "" && len(found) > 0:
				t.Fatalf("refused a good example: %v", found)
			case e.want != "" && (len(found) != 1 || !strings.Contains(found[0].String(), e.want)):
				t.Fatalf("found %v; want one finding with %q", found, e.want)
			}
		})
	}
	for _, r := range rules {
		if !refused[r.name] {
			t.Errorf("rule %q has no bad example: it could never fail", r.name)
		}
	}
}

func TestFence_UnreadableTree(t *testing.T) {
	t.Parallel()
	_, err := load(fstest.MapFS{"config/a.go": &fstest.MapFile{Data: []byte("packge config")}})
	if err == nil || !strings.Contains(err.Error(), "config/a.go") {
		t.Fatalf("load = %v; want an error that names the file", err)
	}
}

func TestRooms_EveryReason(t *testing.T) {
	t.Parallel()
	for _, r := range rooms {
		if r.why == "" {
			t.Errorf("room %s has no reason", r.dir)
		}
	}
	for _, x := range technologies {
		if x.why == "" || len(x.in)+len(x.tests) == 0 {
			t.Errorf("technology %s has no reason or no room", x.mod)
		}
	}
}
