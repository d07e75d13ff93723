package conformance

import (
	"context"

	"github.com/packetbench/packetbench/contract"
)

// Script is what the model behind a transport does, one Step per request that
// the transport makes of it.
type Script struct{ Steps []Step }

// Step is one answer of the model. Its parts come in the order Thinking, Text,
// Plan, Calls, each string as one delta.
type Step struct {
	Thinking []string
	Text     []string
	Plan     []contract.PlanItem
	Calls    []Call
	// Limited refuses the request for now, with a wait in seconds. The next
	// Step answers the try that follows.
	Limited *float64
	// Fail refuses the request for good, with this text.
	Fail string
	// Hold keeps the answer open and silent after its parts until
	// Harness.Release is called or the transport leaves.
	Hold bool
}

// Action is what a call does; a harness knows which tool of its transport does
// that.
type Action string

// The three actions.
const (
	// ActionRead reads a file of the project: a call that never asks.
	ActionRead Action = "read"
	// ActionWrite writes a whole file of the project.
	ActionWrite Action = "write"
	// ActionRun runs a shell command in the project.
	ActionRun Action = "run"
)

// Call is one tool call of a Step.
type Call struct {
	Do Action
	// Path is relative to the project, for reading and writing.
	Path string
	// Text is the new content of a file, or the command.
	Text string
}

// Stream is one subscription, in the order of the log.
type Stream interface {
	// Next returns the next event. It fails when ctx ends or the subscription
	// is lost, with a gap for one.
	Next(ctx context.Context) (contract.Envelope, error)
	Close()
}

// Harness is a running service with one transport whose model plays a Script.
// It is used by one goroutine at a time.
type Harness interface {
	// Start returns the parameters of a new conversation: provider, model and
	// an empty project of this harness. The suite fills in the rest.
	Start() contract.StartParams
	// Call runs a method over any door. A refusal is a *contract.Failure.
	// Result may be nil.
	Call(ctx context.Context, m contract.Method, params, result any) error
	// Subscribe follows patterns from since: "new", "all" or a uint64.
	Subscribe(ctx context.Context, patterns []string, since any) (Stream, error)
	// Release lets a held Step end.
	Release()
	// File is the content of a file of the project.
	File(path string) (content string, exists bool, err error)
	Close()
}

// Crasher is a Harness whose transport can die: it ends the child without
// warning, in the middle of whatever it does.
type Crasher interface {
	Crash(ctx context.Context) error
}

// Feature is something a Script may ask of a model that not every harness can
// make it do.
type Feature string

// The features. Text is not one: every model can speak.
const (
	FeatureThinking Feature = "thinking"
	FeatureTools    Feature = "tools"
	// FeaturePrompts: a command that the model wants to run asks a person first.
	FeaturePrompts Feature = "prompts"
	// FeatureTogether: several commands of one answer ask at once.
	FeatureTogether Feature = "prompts at once"
	FeaturePlan     Feature = "plan"
	FeatureLimit    Feature = "rate limit"
	FeatureFail     Feature = "failure"
	FeatureHold     Feature = "hold"
	FeatureCrash    Feature = "crash"
	FeatureOneShot  Feature = "one-shot"
)
