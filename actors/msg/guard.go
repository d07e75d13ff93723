package msg

import "github.com/packetbench/packetbench/contract"

// What the store actor says about cost limits. Source: runtime.md 7.
type (
	// LaunchCheck asks whether the cost limits let a conversation or a one-shot
	// begin; a Call, answered by LaunchVerdict. Only the limits that are set are
	// looked at, and without any the ledger is not read.
	LaunchCheck struct {
		// Sources are the ledger sources that the launch is billed to.
		Sources []contract.LedgerSource
		// Session is empty for what belongs to no conversation.
		Session contract.ConversationID
	}
	// LaunchVerdict answers LaunchCheck. Err is a sentence that names the limit,
	// what was spent and how to go on; nil lets the launch begin. Warnings are
	// the limits that come near and were not told of today. They count as told
	// once BudgetWarned says so.
	LaunchVerdict struct {
		Err      error
		Warnings []BudgetWarning
	}
	// BudgetWarning is one limit that comes near.
	BudgetWarning struct {
		// Key is daily, monthly, session:<id> or provider:<source>.
		Key string
		// Text is a sentence without an amount: no window shows what was spent.
		Text string
	}
	// BudgetWarned is a Send: a person was told of these keys today.
	BudgetWarned struct{ Keys []string }
)
