package contract

import (
	"encoding/json"
	"time"
)

// TreeRates are short histories of one node, oldest first, one value for each
// SampleEvery seconds: messages a second that came and went, and the mailbox.
// They are there while somebody looks at the tree, and for nodes that have done
// anything meanwhile.
type TreeRates struct {
	SampleEvery float64   `json:"sample_every"`
	In          []float64 `json:"in"`
	Out         []float64 `json:"out"`
	Mailbox     []int64   `json:"mailbox"`
}

// AlarmKind is what is wrong with an actor.
type AlarmKind string

// The alarms. Source: actors.md 8.
const (
	AlarmMailbox AlarmKind = "mailbox"
	AlarmWaiting AlarmKind = "waiting"
	AlarmZombie  AlarmKind = "zombie"
	AlarmLimit   AlarmKind = "limit"
)

// Alarm is one thing that somebody should look at. It is the payload of
// ops.alarm too, with Over set when it has ended.
type Alarm struct {
	Actor string    `json:"actor"`
	Kind  AlarmKind `json:"kind"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	Over  bool      `json:"over,omitempty"`
}

// SubjectCount is how many events of one kind were published since the start of
// the service, such as "api-agent.chunk".
type SubjectCount struct {
	Subject string `json:"subject"`
	Count   uint64 `json:"count"`
}

// LogFacts is the event log as it stands.
type LogFacts struct {
	Up bool `json:"up"`
	// First and Last are sequence numbers, Bytes the size on disk.
	First    uint64         `json:"first"`
	Last     uint64         `json:"last"`
	Bytes    uint64         `json:"bytes"`
	MaxBytes int64          `json:"max_bytes"`
	InFlight int            `json:"in_flight"`
	Waiting  int            `json:"waiting"`
	Subjects []SubjectCount `json:"subjects"`
}

// WindowFacts is one connected window or event stream. Lag is how many events
// it is behind the log.
type WindowFacts struct {
	Viewer        string `json:"viewer"`
	Role          Client `json:"role"`
	Kind          string `json:"kind"`
	Remote        string `json:"remote"`
	Subscriptions int    `json:"subscriptions"`
	Lag           uint64 `json:"lag"`
	ConnectedS    int64  `json:"connected_s"`
}

// HouseFacts is what stands beside the tree.
type HouseFacts struct {
	Log     LogFacts      `json:"log"`
	Windows []WindowFacts `json:"windows"`
	Alarms  []Alarm       `json:"alarms"`
	// Awake conversations run, Stored are all that are listed.
	Awake   int           `json:"awake"`
	Stored  int           `json:"stored"`
	Actors  int           `json:"actors"`
	Sidecar SidecarStatus `json:"sidecar"`
	// MemoryBytes is the resident memory of the service, ChildBytes that of the
	// programs that it runs; 0 where the system does not tell.
	MemoryBytes uint64 `json:"memory_bytes"`
	ChildBytes  uint64 `json:"child_bytes"`
	Goroutines  int    `json:"goroutines"`
}

// LogLinesParams asks for lines of the service's text log: the newest, or those
// behind After.
type LogLinesParams struct {
	// After is the number of the last line that is known; 0 asks for the newest.
	After uint64 `json:"after,omitempty"`
	// Limit is at most 1,000; 0 means 200.
	Limit int `json:"limit,omitempty"`
	// Level is the least level: debug, info, warn or error; empty means all.
	Level string `json:"level,omitempty"`
	// Actor keeps the lines of one registered name; Contains those that hold a
	// text anywhere.
	Actor    string `json:"actor,omitempty"`
	Contains string `json:"contains,omitempty"`
}

// LogLine is one line of the text log.
type LogLine struct {
	N     uint64    `json:"n"`
	Time  time.Time `json:"time"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
	// Fields are the rest of the line, a JSON object.
	Fields json.RawMessage `json:"fields"`
}

// LogLines answers get_log. Last is the number of the newest line there is,
// whatever was asked for; Skipped says that lines behind After are not held any
// more.
type LogLines struct {
	Lines   []LogLine `json:"lines"`
	Last    uint64    `json:"last"`
	Skipped bool      `json:"skipped"`
	// File is where all of it is kept.
	File string `json:"file"`
}

// HealthState is the mark of a conversation that something happened to.
type HealthState string

// The marks. The next turn that ends well takes one away.
const (
	// HealthOK is in a patch only: the mark is taken away.
	HealthOK HealthState = "ok"
	// HealthRestarted: the program that served it, or its own part of the
	// service, ended and was started again.
	HealthRestarted HealthState = "restarted"
	// HealthDown: what serves it failed too often and stays down until somebody
	// resets it.
	HealthDown HealthState = "down"
)

// Health says what happened to a conversation, what was lost and what was kept.
type Health struct {
	State HealthState `json:"state"`
	Text  string      `json:"text"`
	At    time.Time   `json:"at"`
}
