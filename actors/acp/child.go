package acp

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/packetbench/packetbench/actors/child"
	"github.com/packetbench/packetbench/config"
)

// Environ is the environment of an engine: the person's own, since an engine
// brings its own credentials, without what is only ours, plus the engine's own
// settings.
func Environ(base []string, s Spec) []string {
	out := make([]string, 0, len(base)+len(s.Env))
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		if _, set := s.Env[name]; set || strings.HasPrefix(name, config.EnvPrefix) {
			continue
		}
		out = append(out, e)
	}
	names := make([]string, 0, len(s.Env))
	for name := range s.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, name+"="+s.Env[name])
	}
	return out
}

// hide takes the values of an engine's environment out of a text that a person
// or the log gets to see. Short ones are words and stay.
func (s Spec) hide(text string) string {
	for _, value := range s.Env {
		if len(value) >= 8 {
			text = strings.ReplaceAll(text, value, "[hidden]")
		}
	}
	return text
}

// startChild starts an engine in dir. Lines and stderr are heard as in
// [child.TalkOptions]; the error names the program and says what is wrong.
func startChild(s Spec, path, dir string, env []string, o child.TalkOptions) (*child.Talk, error) {
	cmd := exec.Command(path, s.Args...)
	cmd.Dir = dir
	cmd.Env = Environ(env, s)
	o.MaxLine, o.Endless = child.MaxEngineLineBytes, child.MaxUnendedBytes
	return child.StartTalk(cmd, o)
}

// stopChild ends an engine: stdin is closed, which is its only signal, after
// grace SIGTERM, 300 ms later SIGKILL to its whole group. It returns when the
// child is gone, or when it is past killing. Source: acp.md 11.
func stopChild(t *child.Talk, grace time.Duration) (gone bool) {
	kill := time.AfterFunc(grace+termToKill, t.Kill)
	defer kill.Stop()
	done := make(chan struct{})
	go func() { defer close(done); t.Stop(grace) }()
	limit := time.NewTimer(grace + termToKill + 2*killWait)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false // It waits inside the kernel; its end is told when it comes.
	}
}

// startText is what a person reads when an engine could not be started.
func (s Spec) startText(err error) string {
	return s.hide("Could not start the " + s.Name + " ACP engine: " + err.Error() + ". Check the engine path in Settings > Providers.")
}

// maxReason bounds the last words of an engine in a sentence, in bytes.
const maxReason = 500

// exitReason says how an engine ended, for the middle of a sentence, with the
// end of what it wrote to stderr (F25).
func (s Spec) exitReason(e child.Exit) string {
	reason := "exit code " + strconv.Itoa(e.Code)
	switch {
	case e.Broken != nil:
		reason = "it sent a line without end"
	case e.Signal != "":
		reason = "killed by " + e.Signal
	}
	if words := lastWords(e.Tail); words != "" {
		reason += ", its last words: " + words
	}
	return s.hide(reason)
}

// lastWords is the end of a text on one line, begun at a whole character and
// without the full stop that the sentence around it brings.
func lastWords(tail string) string {
	words := strings.TrimRight(strings.Join(strings.Fields(tail), " "), ".")
	if len(words) > maxReason {
		words = "..." + strings.ToValidUTF8(words[len(words)-maxReason:], "")
	}
	return words
}
