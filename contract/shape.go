package contract

import "encoding/json"

// Empty is the object without keys: the parameters of a method that takes
// none, and the result of one that only succeeds.
type Empty struct{}

// Patch is the payload of conversation.updated: the changed keys of a Summary
// with their new values, and the keys named by the Patch constants. A key that
// is absent has not changed.
type Patch map[string]json.RawMessage

// Shape says what a method takes and answers, by zero values of the types.
type Shape struct {
	Method Method
	Params any
	Result any
}

// Shapes has one row for every method. A json.RawMessage stands for a value
// whose shape is not the contract's: settings, an engine's own usage figures.
// Source: contract.md 6.1 and interface.md 4.
var Shapes = []Shape{
	{MethodSubscribe, SubscribeParams{}, SubscribeResult{}},
	{MethodUnsubscribe, UnsubscribeParams{}, Empty{}},
	{MethodSession, Empty{}, Session{}},
	{MethodListConversations, Empty{}, []Summary(nil)},
	{MethodGetConversation, SessionParams{}, Snapshot{}},
	{MethodListProviders, Empty{}, []ProviderRow(nil)},
	{MethodProviderAuth, ProviderParams{}, Badge{}},
	{MethodSidecarStatus, Empty{}, SidecarStatus{}},
	{MethodACPUsage, SessionParams{}, json.RawMessage(nil)},
	{MethodTree, Empty{}, Tree{}},
	{MethodListTerminals, Empty{}, []Terminal(nil)},
	{MethodStart, StartParams{}, StartResult{}},
	{MethodSend, SendParams{}, SendResult{}},
	{MethodCancel, SessionParams{}, Empty{}},
	{MethodChangeModel, ChangeModelParams{}, Empty{}},
	{MethodSetPlanMode, SetEnabledParams{}, Empty{}},
	{MethodSetPermissionMode, SetModeParams{}, Empty{}},
	{MethodSetApproveWrites, SetEnabledParams{}, Empty{}},
	{MethodRespondPermission, RespondPermissionParams{}, Empty{}},
	{MethodRespondEdit, RespondEditParams{}, Empty{}},
	{MethodCancelPending, SessionParams{}, Empty{}},
	{MethodRetry, RetryParams{}, Empty{}},
	{MethodClose, SessionParams{}, Empty{}},
	{MethodApprovePlan, ApprovePlanParams{}, Empty{}},
	{MethodQueueRemove, QueueRemoveParams{}, Empty{}},
	{MethodDelete, SessionParams{}, DeleteResult{}},
	{MethodRename, RenameParams{}, Empty{}},
	{MethodArchive, ArchiveParams{}, Empty{}},
	{MethodPin, PinParams{}, Empty{}},
	{MethodGetSettings, Empty{}, json.RawMessage(nil)},
	{MethodSetSettings, json.RawMessage(nil), json.RawMessage(nil)},
	{MethodSetKey, KeyParams{}, Empty{}},
	{MethodDeleteKey, KeyParams{}, Empty{}},
	{MethodListKeys, Empty{}, []KeyInfo(nil)},
	{MethodListAudit, json.RawMessage(nil), []AuditEntry(nil)},
	{MethodOneShot, OneShotParams{}, StartResult{}},
	{MethodTrustProject, TrustProjectParams{}, Empty{}},
	{MethodResetActor, ActorParams{}, ActorResult{}},
	{MethodStopActor, ActorParams{}, ActorResult{}},
	{MethodStartActor, ActorParams{}, ActorResult{}},
	{MethodOpenTerminal, OpenTerminalParams{}, OpenTerminalResult{}},
	{MethodResizeTerminal, ResizeTerminalParams{}, Empty{}},
	{MethodCloseTerminal, TerminalParams{}, Empty{}},
	{MethodFindFiles, FindFilesParams{}, FoundFiles{}},
	{MethodListCommands, ProjectParams{}, []SlashCommand(nil)},
	{MethodProject, ProjectParams{}, ProjectFacts{}},
	{MethodWorktree, SessionParams{}, WorktreeStatus{}},
	{MethodMergeWorktree, WorktreeParams{}, WorktreeOutcome{}},
	{MethodWorktreePR, WorktreeParams{}, WorktreeOutcome{}},
	{MethodDiscardWorktree, DiscardParams{}, WorktreeOutcome{}},
	{MethodConfirmDelete, SessionParams{}, Confirm{}},
	{MethodListProfiles, Empty{}, Profiles{}},
	{MethodSaveProfile, SaveProfileParams{}, Profiles{}},
	{MethodCloneProfile, ProfileParams{}, Profiles{}},
	{MethodDeleteProfile, ProfileParams{}, Profiles{}},
	{MethodDefaultProfile, ProfileParams{}, Profiles{}},
	{MethodPromptLayers, SessionParams{}, PromptLayers{}},
	{MethodFork, ForkParams{}, StartResult{}},
	{MethodRestore, RestoreParams{}, StartResult{}},
	{MethodExport, ExportParams{}, Exported{}},
	{MethodSearch, SearchParams{}, SearchResult{}},
	{MethodListEdits, SessionParams{}, []EditedFile(nil)},
	{MethodGetEdit, EditedFileParams{}, EditedFileText{}},
	{MethodUndoEdit, UndoEditParams{}, EditedFileText{}},
	{MethodDiffComments, DiffCommentsParams{}, Empty{}},
	{MethodRemovePattern, RemovePatternParams{}, Empty{}},
	{MethodTestKey, KeyTestParams{}, KeyTest{}},
	{MethodProjectDiff, ProjectParams{}, ProjectDiff{}},
	{MethodEngineSessions, EngineParams{}, EngineSessions{}},
	{MethodMCPPlan, MCPPlanParams{}, MCPPlan{}},
	{MethodProbeEngine, Empty{}, EngineProbe{}},
	{MethodPinEngine, PinEngineParams{}, EngineProbe{}},
	{MethodRestartTerminal, RestartTerminalParams{}, Terminal{}},
	{MethodTerminalPresets, Empty{}, []TerminalPreset(nil)},
	{MethodLog, LogLinesParams{}, LogLines{}},
}

// TerminalPayload says what one member of the terminal family carries, by a zero
// value of the type.
type TerminalPayload struct {
	What    TerminalWhat
	Payload any
}

// TerminalPayloads has one row for every member. Source: interface.md 3.
var TerminalPayloads = []TerminalPayload{
	{TerminalOpened, TerminalOpenedEvent{}},
	{TerminalExited, TerminalExitedEvent{}},
	{TerminalResized, TerminalResizedEvent{}},
	{TerminalTitle, TerminalTitleEvent{}},
	{TerminalClosed, TerminalClosedEvent{}},
}

// OpsPayload says what one member of the ops family carries, by a zero value of
// the type.
type OpsPayload struct {
	What    OpsWhat
	Payload any
}

// OpsPayloads has one row for every member. Source: interface.md 3.
var OpsPayloads = []OpsPayload{
	{OpsTreeChanged, Empty{}},
	{OpsRestart, OpsRestartEvent{}},
	{OpsLimitReached, OpsLimitEvent{}},
	{OpsOverflow, OpsOverflowEvent{}},
	{OpsAlarm, Alarm{}},
}

// WhatPayload says what one member of the second family carries, by a zero
// value of the type.
type WhatPayload struct {
	What    What
	Payload any
}

// WhatPayloads has one row for every member. Source: contract.md 2.3.
var WhatPayloads = []WhatPayload{
	{WhatCreated, Summary{}},
	{WhatUpdated, Patch{}},
	{WhatDeleted, Empty{}},
	{WhatUserTurn, UserTurn{}},
	{WhatTurnStarted, TurnStarted{}},
	{WhatTurnEnded, TurnEnded{}},
	{WhatPromptOpened, PromptOpened{}},
	{WhatPromptResolved, PromptResolved{}},
	{WhatEditResolved, EditResolved{}},
	{WhatQueueChanged, QueueChanged{}},
	{WhatPostureChanged, Posture{}},
	{WhatNotice, Notice{}},
}
