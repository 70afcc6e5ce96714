// An unmodified client of the official TypeScript SDK: approve.mjs ACTION DECISION HAFT ARGS…
// It lists the tools, makes a call that asks, answers the form, and prints what came of it.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [action, decision, command, ...args] = process.argv.slice(2);
const capabilities = action === "none" ? {} : { elicitation: {} };
const client = new Client({ name: "test", version: "1" }, { capabilities });
const asked = [];
if (action !== "none") {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    asked.push(request.params.message);
    return action === "accept" ? { action, content: { decision } } : { action };
  });
}
const env = Object.fromEntries(Object.entries(process.env));
await client.connect(new StdioClientTransport({ command, args, env }));
const { tools } = await client.listTools();
const shell = { command: "touch made-by-mcp" };
const result = await client.callTool({ name: "shell__exec", arguments: shell });
const read = await client.callTool({ name: "file__read", arguments: { path: "README.md" } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), asked, result, read }));
await client.close();
