package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// ErrInterrupted says that the person ended it, by Ctrl-C usually.
var ErrInterrupted = errors.New("interrupted; nothing was changed")

// npmArgs installs by the lockfile alone. Install scripts stay off: no SDK needs
// one. Optional and peer packages are named because a person's own settings may
// leave them out, and the Claude Agent SDK's program is one.
var npmArgs = []string{"ci", "--include=optional", "--include=peer", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--prefer-offline", "--loglevel=error"}

// look is how often the folder is looked at while npm works.
const look = 250 * time.Millisecond

// runNPM installs into dir and reports how many packages are there.
func (o Options) runNPM(ctx context.Context, npm, node, dir string, packages []string) error {
	cmd := exec.Command(npm, npmArgs...)
	cmd.Dir, cmd.Env = dir, npmEnv(o.Env, node)
	var complaints []string
	exited := make(chan child.Exit, 1)
	var talk *child.Talk
	spoke := make(chan struct{}, 1)
	talk, err := child.StartTalk(cmd, child.TalkOptions{
		MaxLine: 16 << 10, Endless: 256 << 20,
		Line: func(child.Line) {
			select {
			case spoke <- struct{}{}:
			default:
			}
		},
		Log: func(line string) {
			if complaint, is := npmError(line); is && len(complaints) < 200 {
				complaints = append(complaints, complaint)
			}
		},
		Exited: func(e child.Exit) { exited <- e },
	})
	if err != nil {
		return fmt.Errorf("npm at %s could not be started: %w. Put a working npm on PATH", npm, errors.Unwrap(err))
	}
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		select {
		case <-spoke: // What it prints is of no interest, and must not fill the pipe.
			talk.Credit(64)
		case <-tick.C:
			done, size := grown(dir, packages)
			o.report(Progress{Step: StepFetch, Done: done, Total: len(packages), Bytes: size})
		case <-ctx.Done():
			talk.Kill()
			<-exited
			return ErrInterrupted
		case e := <-exited:
			if e.Code == 0 && e.Signal == "" {
				done, size := grown(dir, packages)
				o.report(Progress{Step: StepFetch, Done: done, Total: len(packages), Bytes: size})
				return nil
			}
			if len(complaints) == 0 {
				complaints = []string{lastWords(e)}
			}
			return explain(complaints)
		}
	}
}

// npmEnv is the person's own environment, proxies and registry included, but
// for keys of providers. A Node that is not on PATH is put there: npm is a
// script that looks for one.
func npmEnv(base []string, node string) (env []string) {
	path := ""
	for _, e := range base {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case config.HoldsKey(name):
		case strings.EqualFold(name, "PATH"):
			path = value
		default:
			env = append(env, e)
		}
	}
	if found, err := exec.LookPath("node"); err != nil || found != node {
		path = filepath.Dir(node) + string(os.PathListSeparator) + path
	}
	return append(env, "PATH="+path)
}

// grown says how many of the packages are in dir, and how many bytes it holds.
func grown(dir string, packages []string) (done int, size int64) {
	for _, at := range packages {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(at), "package.json")); err == nil {
			done++
		}
	}
	_ = filepath.WalkDir(filepath.Join(dir, "node_modules"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // npm moves folders while we look.
		}
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return done, size
}

var (
	errorLine = regexp.MustCompile(`^npm (?:error|ERR!) ?(.*)$`)
	login     = regexp.MustCompile(`//[^/@\s]+@`)
)

// npmError is the text of an error line of npm, without the login that an
// address may hold.
func npmError(line string) (text string, is bool) {
	m := errorLine.FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	text = strings.TrimSpace(m[1])
	for login.MatchString(text) { // A password may hold an @ itself.
		text = login.ReplaceAllString(text, "//")
	}
	return text, true
}

// meaning is what npm's codes mean to a person. The first row of which a code
// is in what npm printed counts: one failure may carry several.
var meaning = []struct {
	codes []string
	say   string
}{
	{[]string{"ENOSPC", "EDQUOT"}, "there is no space left on the disk: the two SDKs need about 550 MB, and as much again in npm's cache. Free some space and run this again"},
	{[]string{"EROFS", "EACCES", "EPERM"}, "npm may not write where it has to. Give your user the right to write to the data directory and to npm's cache (npm config get cache), then run this again"},
	{[]string{"E401", "E403", "ENEEDAUTH", "EOTP"}, "the npm registry refused your login. Log in with npm login, or correct the registry in your .npmrc, then run this again"},
	{[]string{"E404", "ETARGET", "ENOVERSIONS"}, "the npm registry in use does not have a package in the version that is needed. Correct the registry in your .npmrc (npm config get registry), then run this again"},
	{[]string{"EINTEGRITY", "EBADSIZE"}, "a package arrived with another content than the one that this program was tested with. Run npm cache clean --force and run this again; if it stays so, use another registry"},
	{[]string{"UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"}, "the npm registry's certificate is not trusted, which is usual behind a company's proxy. Set NODE_EXTRA_CA_CERTS to its certificate and run this again"},
	{[]string{"ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "ESOCKETTIMEDOUT", "ERR_SOCKET_TIMEOUT", "EIDLETIMEOUT", "ENETUNREACH", "ENETDOWN", "EHOSTUNREACH", "EHOSTDOWN", "ENOTCACHED", "FETCH_ERROR", "E500", "E502", "E503", "E504"}, "the npm registry cannot be reached. Check the network, and HTTPS_PROXY if you are behind a proxy, then run this again"},
	{[]string{"EUSAGE", "EBADENGINE"}, "npm cannot read the lockfile; it may be too old. Update it with npm install --global npm and run this again"},
}

var code = regexp.MustCompile(`\bE[A-Z0-9]{3,}\b|\b[A-Z]+(?:_[A-Z]+)+\b`)

// explain makes what npm complained of one sentence.
func explain(complaints []string) error {
	all := map[string]bool{}
	for _, c := range complaints {
		for _, found := range code.FindAllString(c, -1) {
			all[found] = true
		}
	}
	for _, m := range meaning {
		for _, c := range m.codes {
			if all[c] {
				return fmt.Errorf("the SDKs could not be fetched (npm: %s): %s", c, m.say)
			}
		}
	}
	return fmt.Errorf("the SDKs could not be fetched. npm said: %s. Run this again; npm's own log has more", strings.TrimSuffix(complaints[0], "."))
}
