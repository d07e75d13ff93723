package sidecar

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/config"
)

// queueLines is how many requests may wait for the child: each of
// config.MaxAwakeHard conversations may open a session at the same moment.
const queueLines = 2048

// launch starts the child beside the mailbox; launched is its answer. What the
// child says is decoded on the goroutines that read it.
func (a *actor) launch() {
	node, self := a.Node(), a.PID()
	line, inbox, keys, opt := a.line, a.inbox, a.keys, a.opt
	log := opt.Logger.With("actor", string(msg.Sidecar))
	go func() {
		var done launched
		defer func() { _ = node.Send(self, done) }() // The actor is gone when this fails.
		defer guard(&done.err)
		cmd, err := command(opt, log)
		if err != nil {
			done.err = err
			return
		}
		// The tail is kept of what was cleaned, so that no cut leaves half a key.
		tail := new(child.Tail)
		talk, err := child.StartTalk(cmd, child.TalkOptions{
			Options: child.Options{Marker: opt.Marker, Register: opt.Register},
			MaxLine: child.MaxSidecarLineBytes, Endless: child.MaxUnendedBytes, Queue: queueLines,
			Line: func(l child.Line) {
				if h, ok := hear(keys.clean(l)); ok {
					inbox.put(h)
				} else {
					inbox.put(heard{blank: true})
				}
			},
			Pause: inbox.ring,
			Log: func(text string) {
				text = keys.hide(text)
				_, _ = tail.Write([]byte(text + "\n"))
				log.Info("sidecar says", "line", text)
			},
			Exited: func(e child.Exit) {
				e.Tail = tail.String()
				inbox.put(heard{exit: &e})
				inbox.ring()
			},
		})
		if err != nil {
			done.err = fmt.Errorf("The agent sidecar could not be started (%w). Install Node 20.19 or newer, or set %s.", err, EnvNode)
			return
		}
		line.set(talk)
	}()
}

// set keeps the child, or ends it when the actor has ended meanwhile.
func (l *line) set(talk *child.Talk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.talk = talk
	if l.ended {
		talk.Kill()
	}
}

// command finds the child's program and gives it its environment.
func command(o Options, log *slog.Logger) (*exec.Cmd, error) {
	entry, err := o.Entry.Find()
	for _, n := range entry.Notes {
		log.Warn(n)
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, errors.New("The folder " + o.StateDir + " cannot be made. Look at the permissions of the data directory.")
	}
	cmd := exec.Command(entry.Node, entry.Script)
	cmd.Dir = o.StateDir
	cmd.Env = Environ(o.Environ, o.StateDir)
	log.Info("sidecar starting", "script", entry.Script, "node", entry.Node)
	return cmd, nil
}

// passed are the variables that the child gets as they are. No key is among
// them: keys go over stdin. Source: sidecar-protocol.md 7.
var passed = map[string]bool{
	"PATH": true, "HOME": true, "USER": true, "LOGNAME": true, "SHELL": true, "TERM": true,
	"LANG": true, "LANGUAGE": true, "TZ": true, "TMPDIR": true, "TMP": true, "TEMP": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "NO_PROXY": true,
	"http_proxy": true, "https_proxy": true, "all_proxy": true, "no_proxy": true,
	"NODE_EXTRA_CA_CERTS": true, "SSL_CERT_FILE": true, "SSL_CERT_DIR": true,
	"SSH_AUTH_SOCK": true, "XDG_RUNTIME_DIR": true,
	"ANTHROPIC_BASE_URL": true, "OPENAI_BASE_URL": true,
	config.EnvPrefix + "MCP_PROBE_TIMEOUT_MS": true,
	config.EnvPrefix + "SIDECAR_LIVE":         true,
	config.EnvPrefix + "SIDECAR_IDLE_MS":      true,
	config.EnvPrefix + "SIDECAR_STALL_MS":     true,
	// Windows cannot start a program without these.
	"SYSTEMROOT": true, "SYSTEMDRIVE": true, "COMSPEC": true, "PATHEXT": true, "WINDIR": true,
	"USERPROFILE": true, "APPDATA": true, "LOCALAPPDATA": true, "PROGRAMFILES": true, "PROGRAMDATA": true,
}

// fixed keeps the SDKs quiet: nothing leaves but requests to the model's
// endpoint. Source: real-parts.md 2.
var fixed = []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENAI_AGENTS_DISABLE_TRACING=1"}

// Environ is the child's environment: what it needs of base, the service's own,
// and the folder that belongs to it.
func Environ(base []string, stateDir string) []string {
	var out []string
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		// Windows does not tell cases apart.
		if passed[name] || passed[strings.ToUpper(name)] || strings.HasPrefix(name, "LC_") {
			out = append(out, e)
		}
	}
	return append(append(out, fixed...), config.EnvPrefix+"SIDECAR_STATE="+stateDir)
}

// prepare reads the MCP files and encodes the request that opens a session,
// beside the mailbox: a home directory may be on a slow disk.
func (a *actor) prepare(p prepare) {
	node, self, opt := a.Node(), a.PID(), a.opt
	log := opt.Logger.With("actor", string(msg.Sidecar), "conv", string(p.open.Conversation))
	a.keys.add(p.open.Session.Key)
	go func() {
		done := prepared{session: p.open.Conversation, serial: p.serial}
		var err error
		defer func() {
			if err != nil {
				done.refused = err.Error()
			}
			_ = node.Send(self, done) // The actor is gone when this fails.
		}()
		defer guard(&err)
		s := p.open.Session
		servers, err := servers(wanted{
			home: opt.HomeDir, project: s.Project, trusted: s.Trusted, chosen: s.Servers, read: os.ReadFile,
			note: func(text string) { log.Warn(text) },
		})
		if err != nil {
			return
		}
		baseURL := ""
		if opt.BaseURL != nil {
			if baseURL, err = opt.BaseURL(s.Provider, s.Settings); err != nil {
				return
			}
		}
		done.line, err = encode(start(p.open, servers, baseURL))
	}()
}
