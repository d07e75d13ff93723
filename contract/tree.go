package contract

import (
	"encoding/json"
	"time"
)

// TreeNode is one node of the live tree. Source: interface.md 6.
type TreeNode struct {
	PID              string          `json:"pid"`
	Name             string          `json:"name"`
	Kind             string          `json:"kind"`
	Behavior         string          `json:"behavior"`
	State            string          `json:"state"`
	UptimeS          int64           `json:"uptime_s"`
	Mailbox          int64           `json:"mailbox"`
	MailboxMaxSeen   int64           `json:"mailbox_max_seen"`
	MessagesIn       uint64          `json:"messages_in"`
	MessagesOut      uint64          `json:"messages_out"`
	Restarts         uint64          `json:"restarts"`
	RestartsInWindow int             `json:"restarts_in_window"`
	WindowS          int             `json:"window_s"`
	MaxRestarts      int             `json:"max_restarts"`
	LimitReached     bool            `json:"limit_reached"`
	Links            int             `json:"links"`
	Monitors         int             `json:"monitors"`
	LastReason       string          `json:"last_reason,omitempty"`
	Rates            *TreeRates      `json:"rates,omitempty"`
	Alarms           []AlarmKind     `json:"alarms,omitempty"`
	Detail           json.RawMessage `json:"detail,omitempty"`
	Children         []TreeNode      `json:"children"`
}

// Tree answers get_tree.
type Tree struct {
	BootID string    `json:"boot_id"`
	Time   time.Time `json:"time"`
	Root   TreeNode  `json:"root"`
	// House is there for whoever asks through a door.
	House *HouseFacts `json:"house,omitempty"`
}

// OpsRestartEvent is the payload of ops.restart.
type OpsRestartEvent struct {
	Actor         string `json:"actor"`
	Reason        string `json:"reason"`
	CountInWindow int    `json:"count_in_window"`
}

// OpsLimitEvent is the payload of ops.limit-reached. Actor is the child whose
// budget is spent.
type OpsLimitEvent struct {
	Supervisor string `json:"supervisor"`
	Actor      string `json:"actor,omitempty"`
}

// OpsOverflowEvent is the payload of ops.overflow: a message for Actor was given
// up because its mailbox stayed full.
type OpsOverflowEvent struct {
	Actor   string `json:"actor"`
	Message string `json:"message"`
}
