// Drives `punchlist acp` with the client of the protocol's own SDK, which validates every message.
// Arguments: the SDK's module, the directory of the project, the program and its arguments.
// Prints what it saw as one JSON object.

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";

const [sdk, cwd, program, ...args] = process.argv.slice(2);
const acp = await import(sdk);
const seen = { updates: [], questions: [], stops: [] };
// Cancels the prompt when a call runs, if set.
let cancel = null;

async function connected(work) {
  const agent = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => agent.on("exit", resolve));
  const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
  const client = acp
    .client({ name: "sdk" })
    .onNotification(acp.methods.client.session.update, ({ params }) => {
      seen.updates.push(params.update);
      if (params.update.status === "in_progress" && cancel) cancel();
    })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      const wanted = seen.questions.length === 2 ? "reject_once" : "allow_once";
      const { optionId } = params.options.find((it) => it.kind === wanted);
      return { outcome: { outcome: "selected", optionId } };
    });
  await client.connectWith(stream, async (context) => {
    seen.initialized = await context.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
      clientInfo: { name: "sdk", version: "1" },
    });
    await work(context);
  });
  agent.stdin.end();
  seen.exit = await exited;
}

const prompt = async (context, sessionId, text) => {
  const params = { sessionId, prompt: [{ type: "text", text }] };
  seen.stops.push((await context.request(acp.methods.agent.session.prompt, params)).stopReason);
};

let session;
await connected(async (context) => {
  const opened = await context.request(acp.methods.agent.session.new, { cwd, mcpServers: [] });
  session = opened.sessionId;
  await prompt(context, session, "Write two files");
  cancel = () => context.notify(acp.methods.agent.session.cancel, { sessionId: session });
  await prompt(context, session, "Wait");
  cancel = null;
});
seen.live = seen.updates.splice(0);
await connected(async (context) => {
  const params = { sessionId: session, cwd, mcpServers: [] };
  await context.request(acp.methods.agent.session.load, params);
  seen.replayed = seen.updates.splice(0);
  await prompt(context, session, "And now?");
});
console.log(JSON.stringify(seen));
