// Package store is the actor that alone writes everything under the data
// directory but the event log, the keys and the records of child processes.
//
// What it owns: conversations/<id>.json with its journal and baselines,
// conversations/index.json, state.v1.json, provider-settings.v1.json,
// usage.jsonl with usage-pending/, audit.json and trusted-projects.json. Others
// send the messages of actors/msg/store.go and touch no file.
//
// What it promises:
//   - A file is replaced whole (temporary file, fsync, rename, fsync of the
//     folder) or, for a journal, appended to with one write and an fsync. After
//     a kill at any moment a reader finds the old version or the new one.
//   - msg.Saved, msg.LedgerWritten and msg.Done are sent when the bytes are on
//     the disk. After an error the old version is still there and nothing of
//     the failed save counts.
//   - Requests about one conversation are carried out in the order in which
//     they arrived, and so are those about the ledger, the settings, the trust
//     file and the audit; there is no order between these lanes. A disk that
//     hangs in one lane does not hold up the mailbox.
//   - A damaged file is renamed to <name>.corrupt-<unix seconds> and told with
//     msg.TakeNotices. It never stops a start.
//   - Every failure is a value whose text is a sentence: what happened, what to
//     do. A handler never ends with a reason.
//
// Listing reads the index in memory and opens no conversation: entries cost
// about 0.5 KB each. The index file is a cache of it. It is written now and
// then, and an entry whose file or journal has another size or time than the
// entry says is read again at the start, its first fields only.
//
// It answers msg.LaunchCheck, whether the cost limits let something begin, out of
// the settings and the sums of the ledger. The ledger is added up only when a
// limit is set, and read on from where it was after that.
//
// What it asks of others: at most one save per conversation on its way, the
// record's fields before its messages (contract.Record encodes them so), and
// journal lines made by contract/journal.
//
// Two functions are for the program's start and need no actor: [Migrate], which
// copies the data directory of the product's prior name once, and [Acquire],
// which makes sure that one service owns a data directory.
//
// Source: mcp-state.md 5 to 7, 12 and 14; runtime.md 5 and 7; tools-permissions.md 8
// and 9; faults.md F29 to F32 and F36.
package store
