package plaintext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/packetbench/packetbench/contract"
)

// lineMost is how many characters of a text one line shows.
const lineMost = 160

// Event is one event as a line without its end: sequence, time of day (UTC),
// conversation, turn, name and what it says.
func Event(e contract.Envelope) string {
	id, name := "", e.Subject
	said := Line(string(e.Data), lineMost)
	if a, err := contract.ParseSubject(e.Subject); err == nil {
		id = a.ID
		switch {
		case a.Kind != "":
			name, said = string(a.Kind), agent(a.Kind, e.Data, said)
		case a.What != "":
			name, said = string(a.What), second(a.What, e.Data, said)
		}
	}
	turn := string(e.Turn)
	if turn == "" {
		turn = "-"
	}
	if id == "" {
		id = "-"
	}
	line := fmt.Sprintf("%6d %s %s %-4s %-20s %s", e.Seq, e.Time.UTC().Format("15:04:05.000"), id, turn, name, said)
	// Ids come from models and engines, so the line as a whole is made safe.
	return strings.TrimRight(Safe(strings.ReplaceAll(line, "\n", " ")), " ")
}

func agent(k contract.Kind, data json.RawMessage, otherwise string) string {
	event, err := contract.Decode(k, data)
	if err != nil {
		return otherwise
	}
	switch e := event.(type) {
	case contract.Chunk:
		return quoted(string(e))
	case contract.Thinking:
		return quoted(e.Text)
	case contract.ThinkingStop:
		return ""
	case contract.ToolStart:
		return call(e.ID, e.Name, text(e.Input))
	case contract.ToolResult:
		state := "ok"
		if e.IsError {
			state = "failed"
		}
		return call(e.ID, e.Name, e.Input) + " " + state + ": " + Line(e.Content, lineMost)
	case contract.PermissionRequest:
		return call(e.ID, e.Name, e.Arguments)
	case contract.PendingEdit:
		return fmt.Sprintf("%s %s, %d bytes", e.ID, Line(e.Path, lineMost), len(e.Content))
	case contract.EditBaseline:
		return e.ID + " " + Line(e.Path, lineMost)
	case contract.PlanBlock:
		var items []string
		for _, i := range e.Items {
			items = append(items, "["+string(i.Status)+"] "+Line(i.Content, lineMost))
		}
		return strings.Join(items, "; ")
	case contract.RateLimited:
		if e.RetryAfterSeconds == nil {
			return text(e.Message)
		}
		return strings.TrimSpace("wait " + strconv.FormatFloat(*e.RetryAfterSeconds, 'f', -1, 64) + " s " + Line(text(e.Message), lineMost))
	case contract.Done:
		said := fmt.Sprintf("%d in, %d out, %d read, %d written", e.InputTokens, e.OutputTokens, e.CacheReadInputTokens, e.CacheCreationInputTokens)
		if e.Cancelled {
			said = "cancelled, " + said
		}
		return said
	case contract.Error:
		return Line(e.Message, lineMost)
	case contract.TurnSummary, contract.MCPSources, contract.ToolOutputExtended:
	}
	return otherwise
}

func second(w contract.What, data json.RawMessage, otherwise string) string {
	switch w {
	case contract.WhatUserTurn:
		var u contract.UserTurn
		if json.Unmarshal(data, &u) == nil {
			said := quoted(u.Content)
			if u.Queued {
				said += " queued"
			}
			return u.MessageID + " " + said
		}
	case contract.WhatTurnEnded:
		var t contract.TurnEnded
		if json.Unmarshal(data, &t) == nil {
			return string(t.Outcome)
		}
	case contract.WhatPromptResolved, contract.WhatEditResolved:
		var p struct{ ID, Decision, By string }
		if json.Unmarshal(data, &p) == nil {
			return p.ID + " " + p.Decision + " by " + p.By
		}
	case contract.WhatNotice:
		var n contract.Notice
		if json.Unmarshal(data, &n) == nil {
			return string(n.Level) + ": " + Line(n.Text, lineMost)
		}
	case contract.WhatCreated, contract.WhatUpdated, contract.WhatDeleted, contract.WhatTurnStarted,
		contract.WhatPromptOpened, contract.WhatQueueChanged, contract.WhatPostureChanged:
	}
	return otherwise
}

func call(id, name, arguments string) string {
	return strings.Join(strings.Fields(Safe(id)+" "+Safe(name)+" "+Line(arguments, lineMost)), " ")
}

// quoted shows a delta with its line ends and blanks.
func quoted(s string) string {
	return strconv.Quote(Line(strings.ReplaceAll(s, "\n", "\u23ce"), lineMost))
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
