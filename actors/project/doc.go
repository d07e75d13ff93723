// Package project reads what a project folder and a person's home say to the
// service: Markdown slash commands, the instructions for agents, the MCP servers
// of a conversation.
//
// It is a library, not an actor, and it only reads. What it promises:
//
//   - Nothing here fails: a file that is missing, too large, no text or no JSON
//     is left out. Only [MCP] says so, because a server that is missing without
//     a word is looked for in vain.
//   - A file of a project is read from inside the project: a link that leads out
//     of it is not followed, so that a foreign folder cannot hand a person's
//     other files to a provider.
//   - No value of an MCP entry but its name and transport leaves this package.
//
// Source of the rules: mcp-state.md 2, 8 and 10.
package project
