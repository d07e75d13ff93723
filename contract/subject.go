package contract

import (
	"fmt"
	"strings"
)

// The first tokens of the subject families. Source: interface.md 3.
const (
	prefixAgent        = "api-agent"
	prefixConversation = "conversation"
	prefixTerminal     = "terminal"
	prefixOps          = "ops"
	prefixCommand      = "command"
)

// The subjects without an id.
const (
	SubjectSidecarStatus = "sidecar-status.changed"
	SubjectProviderAuth  = "provider-auth.changed"
)

// LoggedSubjects are the patterns that the event log captures: everything but
// command.>, whose requests would be answered by the log instead of by us.
var LoggedSubjects = []string{
	prefixAgent + ".>", prefixConversation + ".>", prefixTerminal + ".>", prefixOps + ".>",
	SubjectSidecarStatus, SubjectProviderAuth,
}

// What names one subject of the second family, conversation.<what>.<id>.
type What string

// The members of the second family. Source: contract.md 2.3.
const (
	WhatCreated        What = "created"
	WhatUpdated        What = "updated"
	WhatDeleted        What = "deleted"
	WhatUserTurn       What = "user-turn"
	WhatTurnStarted    What = "turn-started"
	WhatTurnEnded      What = "turn-ended"
	WhatPromptOpened   What = "prompt-opened"
	WhatPromptResolved What = "prompt-resolved"
	WhatEditResolved   What = "edit-resolved"
	WhatQueueChanged   What = "queue-changed"
	WhatPostureChanged What = "posture-changed"
	WhatNotice         What = "notice"
)

// Whats lists the second family in the order of contract.md 2.3.
var Whats = []What{
	WhatCreated, WhatUpdated, WhatDeleted, WhatUserTurn, WhatTurnStarted, WhatTurnEnded,
	WhatPromptOpened, WhatPromptResolved, WhatEditResolved, WhatQueueChanged,
	WhatPostureChanged, WhatNotice,
}

// TerminalWhat names one subject of terminal.<what>.<id>.
type TerminalWhat string

// The members of the terminal family. Source: interface.md 3.
const (
	TerminalOpened  TerminalWhat = "opened"
	TerminalExited  TerminalWhat = "exited"
	TerminalResized TerminalWhat = "resized"
	TerminalTitle   TerminalWhat = "title"
	// TerminalClosed: the terminal is gone, by a person or by a fault.
	TerminalClosed TerminalWhat = "closed"
)

// OpsWhat names one subject of ops.<what>.
type OpsWhat string

// The members of the ops family. Source: interface.md 3.
const (
	OpsTreeChanged  OpsWhat = "tree-changed"
	OpsRestart      OpsWhat = "restart"
	OpsLimitReached OpsWhat = "limit-reached"
	OpsOverflow     OpsWhat = "overflow"
	// OpsAlarm begins or ends an Alarm.
	OpsAlarm OpsWhat = "alarm"
)

// Subject returns the bus subject of one event, "api-agent.<kind>.<id>".
//
// It fails with ErrBadID unless id is 1 to 64 of A-Z a-z 0-9 _ and -, and with
// ErrBadKind for a kind outside the fifteen. The bus would take a dot or a
// star without complaint, and no window would see it.
func Subject(k Kind, id ConversationID) (string, error) {
	if !k.Valid() {
		return "", fmt.Errorf("%w: %q", ErrBadKind, string(k))
	}
	return join(prefixAgent, string(k), string(id))
}

// ConversationSubject returns "conversation.<what>.<id>". It fails with ErrBadID
// like Subject, and with ErrBadSubject for a what that is no single word.
func ConversationSubject(w What, id ConversationID) (string, error) {
	return name(prefixConversation, string(w), string(id))
}

// TerminalSubject returns "terminal.<what>.<id>"; it fails like
// ConversationSubject.
func TerminalSubject(w TerminalWhat, id TerminalID) (string, error) {
	return name(prefixTerminal, string(w), string(id))
}

// OpsSubject returns "ops.<what>".
func OpsSubject(w OpsWhat) string { return prefixOps + "." + string(w) }

// CommandSubject returns "command.<method>", the request subject of a method
// for NATS clients.
func CommandSubject(m Method) string { return prefixCommand + "." + string(m) }

// CommandPattern is the pattern that matches every command subject.
const CommandPattern = prefixCommand + ".>"

// CommandMethod returns the method of a command subject, and whether subject
// is one.
func CommandMethod(subject string) (Method, bool) {
	m, ok := strings.CutPrefix(subject, prefixCommand+".")
	return Method(m), ok && m != ""
}

// AgentPattern matches all fifteen kinds of one conversation. It fails like
// Subject.
func AgentPattern(id ConversationID) (string, error) { return join(prefixAgent, "*", string(id)) }

// ConversationPattern matches the second family of one conversation. It fails
// like Subject.
func ConversationPattern(id ConversationID) (string, error) {
	return join(prefixConversation, "*", string(id))
}

// KindPattern matches one kind of every conversation. It fails with ErrBadKind.
func KindPattern(k Kind) (string, error) {
	if !k.Valid() {
		return "", fmt.Errorf("%w: %q", ErrBadKind, clip(string(k)))
	}
	return prefixAgent + "." + string(k) + ".*", nil
}

// WhatPattern matches one member of the second family of every conversation. It
// fails with ErrBadSubject for a what that is no single word.
func WhatPattern(w What) (string, error) {
	if !ValidID(string(w)) {
		return "", fmt.Errorf("%w: %q", ErrBadSubject, clip(string(w)))
	}
	return prefixConversation + "." + string(w) + ".*", nil
}

// OpsPattern matches every subject of the ops family.
const OpsPattern = prefixOps + ".>"

func join(family, what, id string) (string, error) {
	if !ValidID(id) {
		return "", fmt.Errorf("%w: %q", ErrBadID, clip(id))
	}
	return family + "." + what + "." + id, nil
}

// name is join for a member of an open family: one more token in it would make
// a subject that no window follows.
func name(family, what, id string) (string, error) {
	if !ValidID(what) {
		return "", fmt.Errorf("%w: %q", ErrBadSubject, clip(what))
	}
	return join(family, what, id)
}

// Address is a subject taken apart. Of Kind, What and Terminal at most one is
// set; ID is empty for the families without one.
type Address struct {
	Kind     Kind
	What     What
	Terminal TerminalWhat
	Ops      OpsWhat
	ID       string
}

// ParseSubject takes a subject apart; the two without an id give the zero
// Address. It fails with ErrBadSubject for one that no function of this package
// builds, patterns and commands among them.
func ParseSubject(subject string) (Address, error) {
	if subject == SubjectSidecarStatus || subject == SubjectProviderAuth {
		return Address{}, nil
	}
	family, rest, ok := strings.Cut(subject, ".")
	if !ok {
		return Address{}, fmt.Errorf("%w: %q", ErrBadSubject, clip(subject))
	}
	if family == prefixOps && ValidID(rest) {
		return Address{Ops: OpsWhat(rest)}, nil
	}
	what, id, ok := strings.Cut(rest, ".")
	if !ok || !ValidID(id) || !ValidID(what) {
		return Address{}, fmt.Errorf("%w: %q", ErrBadSubject, clip(subject))
	}
	switch family {
	case prefixAgent:
		if k := Kind(what); k.Valid() {
			return Address{Kind: k, ID: id}, nil
		}
	case prefixConversation:
		return Address{What: What(what), ID: id}, nil
	case prefixTerminal:
		return Address{Terminal: TerminalWhat(what), ID: id}, nil
	}
	return Address{}, fmt.Errorf("%w: %q", ErrBadSubject, clip(subject))
}

// ValidPattern reports whether pattern is a well-formed subscription over the
// logged subjects: tokens separated by dots, each a word, "*", or a final ">".
// At most 256 bytes and 16 tokens.
func ValidPattern(pattern string) bool {
	if pattern == "" || len(pattern) > 256 {
		return false
	}
	tokens := strings.Split(pattern, ".")
	if len(tokens) > 16 {
		return false
	}
	for i, t := range tokens {
		if t == ">" {
			if i != len(tokens)-1 {
				return false
			}
			continue
		}
		if t == "*" {
			continue
		}
		if t == "" || len(t) > 64 || strings.ContainsFunc(t, func(r rune) bool { return !idRune(r) }) {
			return false
		}
	}
	return true
}

// Match reports whether subject is matched by pattern, with the bus's rules:
// "*" is one token, ">" is one or more at the end. Both are well formed: a
// pattern as ValidPattern has it, a subject without an empty token.
func Match(pattern, subject string) bool {
	for {
		p, pRest, pMore := strings.Cut(pattern, ".")
		if p == ">" {
			return subject != ""
		}
		s, sRest, sMore := strings.Cut(subject, ".")
		if p != "*" && p != s {
			return false
		}
		if !pMore || !sMore {
			return pMore == sMore
		}
		pattern, subject = pRest, sRest
	}
}

// PatternConversation returns the one conversation that pattern names, if it
// names one: such a subscription wakes and holds it, a wildcard does not.
func PatternConversation(pattern string) (ConversationID, bool) {
	tokens := strings.Split(pattern, ".")
	if len(tokens) != 3 || (tokens[0] != prefixAgent && tokens[0] != prefixConversation) {
		return "", false
	}
	if !ValidID(tokens[2]) {
		return "", false
	}
	return ConversationID(tokens[2]), true
}

func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
