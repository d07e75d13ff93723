package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/actors/sidecar"
)

// askLimit bounds one short question to Node.
const askLimit = 30 * time.Second

// Node is a Node that answered. Platform, Arch and Libc are in the words of
// npm's lockfile.
type Node struct {
	Path, Version, Platform, Arch, Libc string
}

// NoNode is the sentence for a machine without Node; oldest is Manifest.Node.
func NoNode(oldest string) string {
	return fmt.Sprintf("Node was not found; the agent SDKs run in it. Install Node %s or newer and put it on PATH.", oldest)
}

// AskNode asks the program at path which Node it is; "" is a Node that was not
// found. oldest is the version that it has to have, Manifest.Node.
func AskNode(ctx context.Context, path, oldest string) (Node, error) {
	if path == "" {
		return Node{}, errors.New(NoNode(oldest))
	}
	out, err := ask(ctx, path, "", "-p", "JSON.stringify({Version:process.versions.node,Platform:process.platform,Arch:process.arch})")
	node := Node{Path: path, Libc: "glibc"}
	if err == nil {
		err = json.Unmarshal(out, &node)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Node{}, ErrInterrupted
		}
		return Node{}, fmt.Errorf("Node at %s could not be asked for its version: %s. Install Node %s or newer and put it on PATH", path, said(err), oldest) //nolint:staticcheck // A name.
	}
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
		node.Libc = "musl"
	}
	if !atLeast(node.Version, oldest) {
		return node, fmt.Errorf("Node %s at %s is too old: %s is the oldest that the sidecar is built for and tested with. Install that or a newer one and run this again", node.Version, path, oldest) //nolint:staticcheck // A name.
	}
	return node, nil
}

// ask runs Node for its answer, in dir.
func ask(ctx context.Context, node, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, plainEnv(), 200*time.Millisecond
	return cmd.Output()
}

// said is why a program failed, in one line: its own last words if it had any.
func said(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if last := lastLine(string(exit.Stderr)); last != "" {
			return last
		}
	}
	return err.Error()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// plainEnv is the environment that the host gives the child, which holds no key.
func plainEnv() []string { return sidecar.Environ(os.Environ(), "") }

// parseVersion reads the numbers of "20.19" or "20.19.3-rc.1".
func parseVersion(s string) (parts []int, ok bool) {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "v"), "-")
	for _, p := range strings.Split(s, ".") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil, false
		}
		parts = append(parts, n)
	}
	return parts, true
}

// atLeast reports whether version is oldest or newer; nonsense is not.
func atLeast(version, oldest string) bool {
	v, ok := parseVersion(version)
	o, known := parseVersion(oldest)
	return ok && known && slices.Compare(v, o) >= 0
}

// owner names this process among all that ever ran: its folders are told from
// those of a run that died.
func owner() string {
	start, _ := child.StartOf(os.Getpid())
	return fmt.Sprintf("%d-%d", os.Getpid(), start)
}

// abandoned reports whether the owner in a folder's name has ended.
func abandoned(name string) bool {
	pid, start, ok := strings.Cut(name, "-")
	if !ok {
		return false
	}
	p, err := strconv.Atoi(pid)
	s, err2 := strconv.ParseUint(start, 10, 64)
	return err == nil && err2 == nil && !child.Alive(p, s)
}
