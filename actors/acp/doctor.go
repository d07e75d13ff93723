package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/contract"
)

// MinimumVersion is the oldest packetcode we work with. Source: acp.md 10.
const MinimumVersion = "0.1.0"

// maxReport bounds what is read of a doctor's answer, in bytes.
const maxReport = 1 << 20

// Probe is what is known of the default engine without starting it as one.
type Probe struct {
	Found          bool   `json:"found"`
	Path           string `json:"path,omitempty"`
	Version        string `json:"version,omitempty"`
	Status         string `json:"status,omitempty"`
	MinimumVersion string `json:"minimumVersion"`
	Compatible     bool   `json:"compatible"`
	// InstallSupported is false: installing is the person's own command.
	InstallSupported bool   `json:"installSupported"`
	Detail           string `json:"detail,omitempty"`
}

// RunProbe asks "path doctor --json", for at most 15 s. The exit code says
// nothing: a doctor that finds a broken MCP entry exits 1 beside a valid answer.
// It blocks; call it from a goroutine of its own.
func RunProbe(ctx context.Context, path string, env []string, o child.Options) Probe {
	ctx, cancel := context.WithTimeout(ctx, waitProbe)
	defer cancel()
	p := Probe{Path: path, MinimumVersion: MinimumVersion}
	report, err := runDoctor(ctx, path, env, o)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		p.Found, p.Detail = true, "doctor --json timed out"
		return p
	case err != nil:
		p.Detail = "could not run " + path + ": " + err.Error()
		return p
	}
	return judge(p, report)
}

func runDoctor(ctx context.Context, path string, env []string, o child.Options) ([]byte, error) {
	cmd := exec.Command(path, "doctor", "--json")
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g, err := child.Start(cmd, o)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { g.Kill() })
	report, _ := io.ReadAll(io.LimitReader(out, maxReport))
	g.Kill() // Whatever it left behind, and a doctor that says too much.
	_ = g.Wait()
	g.Release()
	if !stop() {
		return nil, ctx.Err()
	}
	return report, nil
}

// judge reads a doctor's answer.
func judge(p Probe, report []byte) Probe {
	p.Found = true
	if i := bytes.IndexByte(report, '{'); i > 0 {
		report = report[i:]
	}
	var w struct {
		Version json.RawMessage `json:"version"`
		Status  json.RawMessage `json:"status"`
	}
	// A decoder, since a line may follow.
	if json.NewDecoder(bytes.NewReader(report)).Decode(&w) == nil {
		p.Version, p.Status = strings.TrimSpace(str(w.Version)), str(w.Status)
	}
	p.Compatible = compatible(p.Version, MinimumVersion)
	return p
}

// compatible compares up to three numbers, split at ".", "-" and "+". A version
// that begins with "dev" passes, one without a number does not.
func compatible(version, minimum string) bool {
	version = strings.TrimSpace(version)
	if strings.HasPrefix(version, "dev") {
		return true
	}
	have, ok := numbers(version)
	want, _ := numbers(minimum)
	if !ok {
		return false
	}
	for i := range have {
		if have[i] != want[i] {
			return have[i] > want[i]
		}
	}
	return true
}

func numbers(version string) (n [3]uint64, ok bool) {
	version = strings.TrimPrefix(version, "v")
	parts := strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' || r == '+' })
	for i := range min(len(parts), len(n)) {
		v, err := strconv.ParseUint(parts[i], 10, 64)
		if err != nil {
			break
		}
		n[i], ok = v, true
	}
	return n, ok
}

// Badge is what the row of the default engine shows. Source: acp.md 10.
func (p Probe) Badge() contract.Badge {
	switch {
	case !p.Found:
		return contract.Badge{Status: contract.BadgeMissingKey, Hint: "packetcode engine not found. Install it or pin its path in Settings > Providers."}
	case p.Detail != "":
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: p.Detail}
	case p.Version == "":
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: "The packetcode engine did not report a version."}
	case !p.Compatible:
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: "packetcode " + p.Version + " is too old; " + p.MinimumVersion + " or newer is needed."}
	}
	return contract.Badge{Status: contract.BadgeReady}
}

// SpecBadge is what the row of an engine from Settings shows. Failure is the
// last words of an engine that is down or did not start, empty otherwise.
// Source: contract.md 11.
func SpecBadge(s Spec, failure string) contract.Badge {
	if _, ok := ResolveProgram(s.Command); !ok {
		return contract.Badge{Status: contract.BadgeMissingKey, Hint: s.Command + " was not found. Fix the engine in Settings > Providers."}
	}
	if failure != "" {
		return contract.Badge{Status: contract.BadgeServiceDown, Hint: failure}
	}
	return contract.Badge{Status: contract.BadgeReady}
}
