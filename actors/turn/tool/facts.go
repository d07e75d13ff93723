package tool

import (
	"path"
	"regexp"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Facts say where the output of a shell command may come from.
type Facts struct {
	// Parsed says that the whole command was understood.
	Parsed bool
	// Network says that it runs something that reaches a network, or might.
	Network bool
	// Because names the word that decided, for the log; empty when nothing did.
	Because string
}

// Tainting reports whether the result of the command counts as somebody else's
// words. Source: tools-permissions.md section 9.
func (f Facts) Tainting() bool { return !f.Parsed || f.Network }

// BashFacts reads a command line without running it. It never claims more than
// it can see: what cannot be parsed, a program whose name is computed, and code
// that another interpreter gets through a pipe count as reaching a network. A
// script file or a build tool counts as local, although it could reach one.
//
// On Windows, where cmd.exe reads the line, nothing is parsed.
func BashFacts(command string) Facts {
	if runtime.GOOS == "windows" {
		return Facts{Because: "cmd.exe"}
	}
	return shellFacts(command, 0)
}

// maxNesting bounds `sh -c` inside `sh -c`.
const maxNesting = 4

func shellFacts(command string, depth int) Facts {
	if depth > maxNesting {
		return Facts{Because: "nesting"}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return Facts{Because: "syntax"}
	}
	r := &reader{depth: depth, heredoc: map[*syntax.Word]bool{}}
	syntax.Walk(file, r.visit)
	for _, text := range r.heredocs {
		if r.interpreter && networkCode.MatchString(text) {
			r.found("here document")
		}
	}
	return Facts{Parsed: !r.opaque, Network: r.network, Because: r.because}
}

// reader collects what a walk over a parsed command meets.
type reader struct {
	depth       int
	network     bool
	opaque      bool
	because     string
	interpreter bool
	heredocs    []string
	heredoc     map[*syntax.Word]bool
}

func (r *reader) found(because string) {
	r.network = true
	if r.because == "" {
		r.because = because
	}
}

// inner reads code that one word holds.
func (r *reader) inner(code word, of string) {
	if !code.whole {
		r.found(of)
		return
	}
	f := shellFacts(code.text, r.depth+1)
	if !f.Parsed {
		r.opaque = true
	}
	if f.Tainting() {
		r.found(of + ": " + f.Because)
	}
}

// An address, or the short form that ssh and git use.
var remote = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://|^[\w.-]+@[\w.-]+:`)

// networkCode is met in code that reaches a network, in the languages of the
// interpreters below. It errs on the side of finding too much.
var networkCode = regexp.MustCompile(`(?i)https?|://|urllib|requests|socket|fetch\s*\(|\bnet\b|ftp|smtp|\bdns\b|lwp|open-uri|curl|wget|subprocess|child_process|os\.system|\bexec`)

func (r *reader) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		words := make([]word, len(n.Args))
		for i, a := range n.Args {
			words[i] = literal(a)
		}
		r.call(words)
	case *syntax.Redirect:
		if n.Hdoc != nil {
			r.heredoc[n.Hdoc] = true
			r.heredocs = append(r.heredocs, literal(n.Hdoc).text)
		}
		if n.Op == syntax.WordHdoc && n.Word != nil {
			r.heredocs = append(r.heredocs, literal(n.Word).text)
		}
		if n.Word != nil {
			if t := literal(n.Word).text; strings.HasPrefix(t, "/dev/tcp/") || strings.HasPrefix(t, "/dev/udp/") {
				r.found(t)
			}
		}
	case *syntax.Word:
		// A text that is written to a file may name addresses; an argument that
		// does is likely to be followed.
		if !r.heredoc[n] {
			if t := literal(n).text; remote.MatchString(t) {
				r.found("address")
			}
		}
	}
	return true
}

// call judges one simple command.
func (r *reader) call(words []word) {
	if len(words) == 0 {
		return
	}
	r.direct(words)
	name := words[0].program()
	if !words[0].whole || !wrappers[name] || name == "command" && len(words) > 1 && has(words[1:2], "-v", "-V") {
		return
	}
	// Which of the words is the program depends on options that every wrapper
	// has of its own, so each of them is taken for one. A computed word counts
	// only where nothing but options, assignments and numbers is ahead of it.
	ahead := name != "find" && name != "fd"
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.whole:
			r.direct(words[i:])
			ahead = ahead && notProgram.MatchString(w.text)
		case ahead && !assignment.MatchString(w.text):
			r.found(name + " with a computed program")
			ahead = false
		}
	}
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	notProgram = regexp.MustCompile(`^(-.*|[A-Za-z_][A-Za-z0-9_]*=.*|[0-9.]+[smhd]?)$`)
)

func (r *reader) direct(words []word) {
	if !words[0].whole {
		r.found("computed program")
		return
	}
	name := words[0].program()
	rest := words[1:]
	switch {
	case networkPrograms[name]:
		r.found(name)
	case name == "git":
		r.git(rest)
	case name == "eval":
		var b strings.Builder
		whole := true
		for _, w := range rest {
			whole = whole && w.whole
			b.WriteString(w.text + " ")
		}
		r.inner(word{b.String(), whole}, name)
	case name == "trap":
		if len(rest) > 1 {
			r.inner(rest[0], name)
		}
	case name == "alias":
		if len(rest) > 0 {
			r.found(name)
		}
	case shells[name]:
		r.shell(name, rest)
	case interpreters[strings.TrimRight(name, "0123456789.")]:
		r.interpret(name, rest)
	case name == "openssl":
		if has(rest, "s_client") {
			r.found(name)
		}
	}
	// Some are both, a runtime and a package manager.
	if subcommands[name] != nil {
		r.subcommand(name, rest)
	}
}

// shell judges a shell started by the command: its -c text is read; a script
// file counts as local; code from its standard input cannot be seen.
func (r *reader) shell(name string, rest []word) {
	for i, w := range rest {
		switch {
		case !w.whole:
			// A computed file name is a file; a computed option could be -c.
			r.found(name)
			return
		case strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c"):
			if i+1 < len(rest) {
				r.inner(rest[i+1], name+" -c")
			}
			return
		case strings.HasPrefix(w.text, "-s"), w.text == "-":
			r.found(name)
			return
		case w.text == "--version", w.text == "--help", !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+"):
			return
		}
	}
	r.found(name + " from its input")
}

// interpret judges code that is given on the command line.
func (r *reader) interpret(name string, rest []word) {
	r.interpreter = true
	for i, w := range rest {
		switch w.text {
		case "-m":
			if i+1 < len(rest) {
				if m := rest[i+1]; !m.whole || m.text == "http.server" {
					r.found(name)
				} else {
					r.direct(rest[i+1:])
				}
			}
			return
		case "-c", "-e", "-E", "-r", "-p", "-pe", "-ne", "--eval", "--print":
			if i+1 < len(rest) {
				if code := rest[i+1]; !code.whole || networkCode.MatchString(code.text) {
					r.found(name)
				}
			}
			return
		}
		if !strings.HasPrefix(w.text, "-") {
			return
		}
		if networkCode.MatchString(w.text) { // -rsocket, -MLWP::Simple
			r.found(name)
		}
	}
}

func (r *reader) git(rest []word) {
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		switch {
		case !w.whole:
			r.found("git")
			return
		case w.text == "-C" || w.text == "-c" || w.text == "--git-dir" || w.text == "--work-tree" || w.text == "--namespace":
			i++ // its value
		case strings.HasPrefix(w.text, "-"):
		default:
			more := rest[i+1:]
			switch w.text {
			case "fetch", "pull", "clone", "push", "ls-remote", "lfs", "svn", "p4", "send-email", "fetch-pack", "send-pack", "http-fetch", "http-push", "daemon", "imap-send":
				r.found("git " + w.text)
			case "remote":
				if has(more, "update", "show", "prune", "-f", "set-head") {
					r.found("git remote")
				}
			case "submodule":
				if has(more, "update", "add", "foreach") {
					r.found("git submodule")
				}
			case "archive":
				for _, m := range more {
					if strings.HasPrefix(m.text, "--remote") {
						r.found("git archive")
					}
				}
			}
			return
		}
	}
}

// subcommand judges a tool that reaches a network with some of its subcommands.
func (r *reader) subcommand(name string, rest []word) {
	risky := subcommands[name]
	for i, w := range rest {
		if !w.whole {
			r.found(name)
			return
		}
		if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") {
			continue
		}
		switch {
		case risky[w.text]:
			r.found(name + " " + w.text)
		case name == "go":
			for _, m := range rest[i+1:] {
				if w.text == "run" && strings.Contains(m.text, "@") || w.text == "list" && (m.text == "-m" || m.text == "-u") {
					r.found("go " + w.text)
				}
			}
		}
		return
	}
	// Alone it may install what the project asks for.
	if risky[""] {
		r.found(name)
	}
}

func has(words []word, any ...string) bool {
	for _, w := range words {
		for _, a := range any {
			if w.text == a {
				return true
			}
		}
	}
	return false
}

// word is what can be said about a word of the command without running it.
type word struct {
	text  string // the literal parts, quotes removed
	whole bool   // nothing in it is computed
}

func (w word) program() string {
	return strings.TrimSuffix(strings.ToLower(path.Base(w.text)), ".exe")
}

func literal(w *syntax.Word) word {
	out := word{whole: true}
	var b strings.Builder
	var parts func([]syntax.WordPart)
	parts = func(list []syntax.WordPart) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(unescape(p.Value))
			case *syntax.SglQuoted:
				// $'...' has escapes of its own, which could spell anything.
				if p.Dollar && strings.Contains(p.Value, `\`) {
					out.whole = false
				}
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				parts(p.Parts)
			default:
				out.whole = false
			}
		}
	}
	parts(w.Parts)
	out.text = b.String()
	return out
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

var shells = set("sh bash dash zsh ksh fish ash busybox")

var interpreters = set("python pypy node nodejs deno bun perl ruby php lua pwsh powershell osascript rscript tclsh")

// wrappers run the command that their arguments name.
var wrappers = set(`sudo doas env nohup time timeout gtimeout nice ionice exec command builtin xargs parallel find fd
	watch stdbuf setsid strace ltrace script unbuffer flock chroot unshare su runuser entr caffeinate systemd-run`)

// networkPrograms reach a network whatever they are asked. Source:
// tools-permissions.md section 9, filled up with their kin.
var networkPrograms = set(`curl wget ssh scp sftp rsync nc ncat netcat socat telnet ftp lftp tftp mosh autossh sshfs
	gh glab hub tea svn aria2c lynx w3m links elinks http https httpie xh youtube-dl yt-dlp
	ping ping6 traceroute tracepath mtr dig drill nslookup host whois nmap
	aws gcloud gsutil az kubectl helm terraform tofu ansible ansible-playbook rclone s3cmd
	heroku fly flyctl vercel netlify firebase wrangler ollama tailscale
	psql mysql mariadb mongosh redis-cli
	npx bunx pnpx uvx pipx pip-compile apt apt-get aptitude add-apt-repository dnf yum zypper apk pacman yay brew
	port snap flatpak nix nix-env nix-shell guix choco winget scoop conda mamba cpan cpanm luarocks opam cabal stack`)

// subcommands lists, for tools that also work locally, what reaches a network;
// the empty word stands for none at all.
var subcommands = map[string]map[string]bool{
	"npm":      set("install i in ci add update up upgrade publish unpublish view info show v search audit outdated login adduser whoami exec x create init ping dist-tag deprecate owner token access star doctor fund install-test it cit"),
	"pnpm":     set("install i add update up upgrade publish view info search audit outdated login dlx create fetch import exec"),
	"yarn":     withBare(set("install add upgrade up publish info search audit outdated login dlx create npm import")),
	"bun":      set("install i add update x create upgrade publish pm outdated"),
	"corepack": set("install prepare use up enable"),
	"pip":      pip, "pip3": pip,
	"uv":       set("pip add remove sync lock tool python self run publish"),
	"poetry":   set("install add update lock publish search self sync"),
	"pipenv":   set("install update lock sync upgrade"),
	"pdm":      set("install add update lock sync publish"),
	"cargo":    set("install add update fetch publish search login logout owner yank info binstall"),
	"rustup":   set("install update toolchain target component self default"),
	"go":       set("get install mod work telemetry"),
	"gem":      set("install update fetch push search outdated sources"),
	"bundle":   withBare(set("install update add outdated lock")),
	"composer": set("install update require search outdated create-project global self-update show"),
	"mvn":      set("deploy dependency:get dependency:resolve dependency:tree versions:display-dependency-updates"),
	"dotnet":   set("restore add nuget tool workload new"),
	"mix":      set("deps.get deps.update hex.info hex.publish archive.install local.hex"),
	"docker":   containers, "podman": containers, "nerdctl": containers,
	"hg":         set("pull push clone incoming outgoing in out identify"),
	"deno":       set("install add cache upgrade publish info"),
	"snapcraft":  set("push upload login"),
	"pre-commit": set("install autoupdate run"),
}

var (
	pip        = set("install download search index wheel")
	containers = set("pull push run build login search create compose buildx manifest exec logs")
)

func withBare(m map[string]bool) map[string]bool {
	m[""] = true
	return m
}
