package conversation

import (
	"regexp"

	"github.com/packetbench/packetbench/contract"
)

var planHeading = regexp.MustCompile(`(?im)^\s{0,3}##\s+(?:plan|files to change|steps)\b`)

// planReady reports whether the last answer is a settled plan that can be
// approved. Source: tools-permissions.md 7.
func planReady(r *contract.Record, busy bool) bool {
	if busy || !r.PlanMode {
		return false
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		switch m := &r.Messages[i]; m.Role {
		case contract.RoleSystem:
			continue
		case contract.RoleAssistant:
			return !m.IsStreaming && m.Error == "" && planHeading.MatchString(m.Content)
		case contract.RoleUser:
			return false
		}
	}
	return false
}

// planChoice is what one entry of the approval menu does, in its order.
type planChoice struct {
	keepPlanning bool
	mode         contract.PermissionMode
	// writesOff turns approve-writes off.
	writesOff   bool
	instruction string
}

var planChoices = map[string]planChoice{
	"execute": {
		mode:        contract.ModeAuto,
		instruction: "The plan is approved. Implement it now.",
	},
	"accept_edits": {
		mode: contract.ModeAuto, writesOff: true,
		instruction: "The plan is approved. Edit files freely, but ask before any destructive shell command.",
	},
	"review_each": {
		mode:        contract.ModeAskForRisky,
		instruction: "The plan is approved. Go step by step; each edit will be reviewed before it lands.",
	},
	"keep_planning": {
		keepPlanning: true,
		instruction:  "Do not implement yet. Refine the plan and explain the trade-offs of its main choices.",
	},
}
