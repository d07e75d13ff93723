// An MCP server with one tool that reads and one that writes.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'

const server = new McpServer({ name: 'notes', version: '1.0.0' })
const say = (text) => async () => ({ content: [{ type: 'text', text }] })
server.registerTool(
  'read_note',
  { description: 'Reads.', annotations: { readOnlyHint: true } },
  say('the note'),
)
server.registerTool('write_note', { description: 'Writes.' }, say('written'))
await server.connect(new StdioServerTransport())
