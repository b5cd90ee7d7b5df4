// Offers an MCP server to `punchlist acp` with the client of the protocol's own SDK.
// Arguments: the SDK's module, the directory of the project, the server as JSON, the program and its
// arguments. Prints what it saw as one JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [sdk, cwd, server, program, ...args] = process.argv.slice(2);
const acp = await import(sdk);
const seen = { updates: [], questions: [], stops: [] };
const agent = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => agent.on("exit", resolve));
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const client = acp
  .client({ name: "sdk" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    seen.questions.push(params);
    const { optionId } = params.options.find((it) => it.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId } };
  });
await client.connectWith(stream, async (context) => {
  await context.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: "sdk", version: "1" },
  });
  const mcpServers = [JSON.parse(server)];
  const { sessionId } = await context.request(acp.methods.agent.session.new, { cwd, mcpServers });
  for (const text of ["Greet", "Greet again"]) {
    const params = { sessionId, prompt: [{ type: "text", text }] };
    seen.stops.push((await context.request(acp.methods.agent.session.prompt, params)).stopReason);
  }
});
agent.stdin.end();
seen.exit = await exited;
console.log(JSON.stringify(seen));
