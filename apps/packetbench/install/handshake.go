package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/contract"
)

// handshakeLimit is how long a local child may take to say ready. Source:
// sidecar-protocol.md 9.
const handshakeLimit = 10 * time.Second

// Ready is what a child said of itself.
type Ready struct {
	Version string `json:"version"`
	// Protocol is nil when it named none.
	Protocol *int `json:"protocolVersion"`
}

// Speaks is the protocol for people.
func (r Ready) Speaks() string {
	if r.Protocol == nil {
		return "none"
	}
	return fmt.Sprint(*r.Protocol)
}

// Compatible reports whether this program can work with it: older ones would
// run every MCP server unfiltered. Source: sidecar-protocol.md 4.1.
func (r Ready) Compatible() bool { return r.Protocol != nil && *r.Protocol >= contract.SidecarProtocol }

// Handshake starts script with node, waits for its first frame, at most 10 s,
// and ends it again. It gets no key and no request.
func Handshake(ctx context.Context, node, script string) (Ready, error) {
	return handshake(ctx, node, script, handshakeLimit)
}

func handshake(ctx context.Context, node, script string, most time.Duration) (Ready, error) {
	cmd := exec.Command(node, script)
	cmd.Env, cmd.Dir = plainEnv(), filepath.Dir(script)
	ready, exited := make(chan Ready, 1), make(chan child.Exit, 1)
	talk, err := child.StartTalk(cmd, child.TalkOptions{
		MaxLine: 64 << 10, Endless: 1 << 20,
		Line: func(l child.Line) {
			var f struct {
				Type string `json:"type"`
				Ready
			}
			// A library's stray line is no frame.
			if json.Unmarshal(bytes.TrimSpace(l.Text), &f) == nil && f.Type == "ready" {
				select {
				case ready <- f.Ready:
				default:
				}
			}
		},
		Exited: func(e child.Exit) { exited <- e },
	})
	if err != nil {
		return Ready{}, err
	}
	defer func() { talk.Stop(2 * time.Second) }()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case r := <-ready:
		return r, nil
	case e := <-exited:
		return Ready{}, fmt.Errorf("it ended before it was ready (%s): %s", status(e), lastWords(e))
	case <-limit.C:
		return Ready{}, fmt.Errorf("it did not say that it is ready within %s", most)
	case <-ctx.Done():
		return Ready{}, ErrInterrupted
	}
}

func status(e child.Exit) string {
	if e.Signal != "" {
		return e.Signal
	}
	return fmt.Sprintf("exit %d", e.Code)
}

// lastWords is the line of stderr that says most: Node prints the error in the
// middle and ends with its version.
func lastWords(e child.Exit) string {
	text := strings.TrimSpace(e.Tail)
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	if text == "" {
		return "it said nothing"
	}
	return lastLine(text)
}

// loader imports each package that it is given in the folder that it runs in
// and prints what went wrong with each.
const loader = `const failed = {}
for (const name of process.argv.slice(1)) {
  try { await import(name) } catch (e) { failed[name] = String(e?.message ?? e) }
}
process.stdout.write(JSON.stringify(failed), () => process.exit(0))`

// load has Node load each SDK as the child does: relative to dist, by import.
// The protocol has no request for it, and a session would call the vendor.
func (m Manifest) load(ctx context.Context, node, dir string, sdks []SDK) error {
	args := []string{"--input-type=module", "--eval", loader, "--"}
	for _, s := range sdks {
		args = append(args, m.Sets[s][0])
	}
	out, err := ask(ctx, node, filepath.Join(dir, "dist"), args...)
	failed := map[string]string{}
	if err == nil {
		err = json.Unmarshal(out, &failed)
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if err != nil {
		return errors.New(said(err))
	}
	for _, s := range sdks {
		if why := failed[m.Sets[s][0]]; why != "" {
			return fmt.Errorf("the %s: %s", s.Title(), why)
		}
	}
	return nil
}
