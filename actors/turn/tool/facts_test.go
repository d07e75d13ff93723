package tool

import (
	"strings"
	"testing"
)

// Source of the rule: tools-permissions.md section 9.
func TestShellFacts(t *testing.T) {
	t.Parallel()
	local := []string{
		"ls -la", "go test ./...", "go build ./... && go vet ./...", "npm test", "npm run build", "make", "cargo build --release",
		"git status", "git -C sub diff HEAD~1", "git log --oneline | head -5", "git commit -m 'fetch the curl docs'", "git remote -v",
		"echo curl", "echo 'wget x' > notes.txt", "grep -rn curl .", "cat Makefile", "find . -name '*.go' -exec wc -l {} +",
		"find . -name \"$X\"", "time go test $PKG", "env A=$B make", "python3 script.py", "python -m pytest -q", "node build.js",
		"python3 -c 'print(1+1)'", "bash -c 'ls | wc -l'", "sh ./run.sh --fast", "command -v curl", "which wget", "sed -i s/a/b/ f",
		"for f in *.go; do gofmt -l $f; done", "x=$(git rev-parse HEAD); echo $x", "cat > README.md <<EOF\nsee https://example.com\nEOF",
		"trap 'rm -f tmp' EXIT; make", "xargs -n1 echo < list", "sleep 10 & echo ok", "docker ps", "bun test", "",
	}
	tainting := []string{
		"curl example.com", "/usr/bin/curl x", "CURL.exe x", `c\url x`, `"curl" x`, `'cu'rl x`, "wget -q x", "ssh host ls", "scp a b:c", "rsync -a a b", "nc -l 1",
		"git fetch", "git pull --rebase", "git clone x", "git -C sub -c a=b fetch", "git --no-pager push", "git submodule update --init", "gh pr list", "git $X",
		"npm install", "npm ci", "npm -s i left-pad", "npx cowsay", "yarn", "yarn add x", "pip install x", "python3 -m pip install x", "python3.12 -m pip download x", "uv sync", "bun add x",
		"apt-get update", "brew install x", "go get x", "go mod download", "go run example.com/x@latest", "cargo install x", "gem install x",
		"echo https://example.com", "./tool --from=http://x/y", "prog git@host:repo", "U=https://x; ./p $U",
		"sudo curl x", "timeout -s KILL 5 git fetch", "env A=b wget x", "xargs -n 1 curl < urls", "find . -exec curl {} \\;", "nohup ssh h &", "sudo env X=1 nice -n 5 curl x",
		"ls && curl x", "ls | nc h 1", "echo $(curl x)", "echo `wget -O- x`", "(cd a; curl x)", "f() { curl x; }; f", "if true; then wget x; fi", "cat <(curl x)",
		"bash -c 'curl x'", "sh -ec \"git pull\"", "bash -c 'bash -c \"wget x\"'", "bash -c $CMD", "sudo bash -c 'curl x'", "eval curl x", "eval \"$X\"", "alias c=curl; c x", "trap 'curl x' EXIT",
		"$CMD x", "${A}b x", "timeout 5 $CMD", "cat x | sh", "sh -s < x", "bash <<EOF\ncurl x\nEOF",
		"python3 -c 'import urllib.request'", "node -e \"require('https')\"", "perl -MLWP::Simple -e 'get(1)' http", "python3 - <<EOF\nimport requests\nEOF", "cat <<EOF | python3\nimport socket\nEOF",
		"exec 3<>/dev/tcp/host/80", "cat < /dev/udp/h/1", "openssl s_client -connect h:1",
		"if", "echo 'open", "a && && b", "cat <<EOF", "$'\\143url' x",
		strings.Repeat("bash -c '", 1) + "((((" + "'",
	}
	for _, c := range local {
		t.Run("local "+c, func(t *testing.T) {
			t.Parallel()
			if f := shellFacts(c, 0); f.Tainting() {
				t.Fatalf("taints: %+v", f)
			}
		})
	}
	for _, c := range tainting {
		t.Run("tainting "+c, func(t *testing.T) {
			t.Parallel()
			f := shellFacts(c, 0)
			if !f.Tainting() || f.Because == "" {
				t.Fatalf("does not taint, or says not why: %+v", f)
			}
		})
	}
}

// Whatever is appended to a command that taints, it keeps tainting.
func FuzzShellFacts(f *testing.F) {
	for _, s := range []string{"ls", "a | b", "$(x)", "<<E\nE", "bash -c 'ls'", "'", "\\", "}", "f() { :; }", "#"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := shellFacts("curl x\n"+s, 0); !got.Tainting() {
			t.Fatalf("curl before %q is lost: %+v", s, got)
		}
		if got := shellFacts(s, 0); got.Tainting() != (got.Because != "") {
			t.Fatalf("%q: %+v", s, got)
		}
	})
}
