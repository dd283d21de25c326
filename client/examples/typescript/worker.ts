// A worker in TypeScript: one tool on one stream, attached again whenever the stream ends.
//   npm install && npm run build && node dist/worker.js unix:/run/toolrack/worker.sock ../../../proto
import { connect } from "./toolrack";

const schema = JSON.stringify({
  type: "object",
  properties: { words: { type: "array", items: { type: "string" } } },
  required: ["words"],
  additionalProperties: false,
});

const tools: Record<string, (args: any) => unknown> = {
  join: (args) => ({ text: args.words.join(" ") }),
};

function answer(call: any) {
  const id = { invocation_id: call.invocation_id };
  try {
    const text = Buffer.from(JSON.stringify(tools[call.name](JSON.parse(call.arguments_json.toString()))));
    return { ...id, result: { content: [{ json: { json: text } }], structured_json: text } };
  } catch (error) {
    return { ...id, failure: { code: "WORKER_FAILURE_CODE_EXECUTION_FAILED", message: Buffer.from(String(error)) } };
  }
}

function serve(address: string, protos: string) {
  const client = connect("WorkerService", address, protos);
  const stream = client.Attach();
  stream.on("data", (message: any) => {
    if (message.published) {
      console.log("published", ...message.published.accepted);
    } else if (message.invocations) {
      stream.write({ results: { results: message.invocations.invocations.map(answer) } });
    } else if (message.ping) {
      stream.write({ pong: { nonce: message.ping.nonce } });
    }
  });
  stream.on("error", (error: Error) => console.error("attach again:", error.message));
  stream.on("close", () => {
    client.close();
    setTimeout(() => serve(address, protos), 1000);
  });
  stream.write({ hello: { worker_name: "typescript-example", protocol_version: 1 } });
  stream.write({
    publish: {
      namespace: "ts", generation: 1, mode: "PUBLISH_MODE_ATOMIC", commit: true,
      tools: [{ name: "join", description: "Joins words by blanks.", input_schema: schema }],
    },
  });
}

serve(process.argv[2], process.argv[3]);
