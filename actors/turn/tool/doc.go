// Package tool holds the workspace tools of an in-process conversation, the path
// fence that keeps the file tools inside the project, and the guard that keeps
// web_fetch away from private addresses.
//
// One [Runtime] serves one conversation. It offers ten tools, in this order:
// read_file, write_file, edit_file, list_directory, bash, grep, web_fetch,
// task_create, task_update, task_list. It is a library without actors: a turn
// calls [Runtime.Run] from as many goroutines as it likes and gets a [Result],
// never an error and never a panic of its own making. A failing tool is a result
// whose content begins with "Error: " and says what to do; the turn goes on.
//
// What it promises:
//
//   - The file tools reach nothing outside the project root, links resolved,
//     also when a folder is swapped for a link during the call: paths are
//     checked first and then used through os.Root.
//   - A write leaves the old or the new content, never a part. Two writes to one
//     file by one service happen one after the other.
//   - bash answers when the shell has ended, whatever it left in the background.
//     A cancelled context ends every process the conversation started here,
//     the background ones of earlier calls included.
//   - web_fetch connects only to public addresses, checked at the moment of
//     connecting, and marks what it returns as untrusted.
//
// What it asks of others: permissions, the plan mode and the edit gate are
// decided before Run is called (tools-permissions.md sections 6 to 8); bash is
// not confined and must have been allowed. [Runtime.Close] is called when the
// conversation closes, [Runtime.KillBackground] when its turn is cancelled while
// no tool runs.
//
// Source of the rules and limits: tools-permissions.md sections 1, 2, 3, 8 and
// 9; faults.md F01, F17 to F20, F71 to F75, F81.
package tool
