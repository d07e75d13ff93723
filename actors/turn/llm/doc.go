// Package llm speaks to model providers on behalf of in-process turns.
//
// It is a library: no actor, no clock of its own beyond waits that a caller
// can replace, no state on disk. A caller builds a [Provider] with [New],
// repairs its history with [Repair] and calls [Stream], which sends one
// request and hands each [Chunk] to a function, in order, from the calling
// goroutine. A stream that succeeds ends with exactly one [Done]; every other
// end is an error, and no chunk follows it.
//
// What it promises:
//   - text, thinking and tool arguments are valid UTF-8 and no delta ends
//     inside a character;
//   - ThinkingStop comes before the first text or tool call after a run of
//     thinking, and before the end of the stream;
//   - every ToolUseStart is followed by one ToolUseEnd with the same id, and
//     arguments are always a JSON object, {} where the provider sent none or
//     something else;
//   - a request that failed before its first content is tried again within one
//     bounded budget; after content nothing is sent twice;
//   - a provider that is silent for the idle limit, connecting included, ends
//     the stream; a cancelled context ends it at once;
//   - request bodies are byte-stable: the same history gives the same bytes,
//     which is what the providers' prompt caches need;
//   - no error text holds the API key.
//
// What it asks: history that went through Repair, and an emit function that
// does not block for long, since it is called between two reads.
//
// The wires are Anthropic Messages, OpenAI Chat Completions and its
// compatibles, OpenAI Responses, and Ollama's native chat; demo is a script
// without a network. Provider ids are those of contract.md 10; the wire facts
// come from runtime.md 3, the faults avoided from faults.md A.
package llm
