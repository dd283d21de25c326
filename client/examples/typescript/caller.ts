// A caller in TypeScript: calls one tool.
//   node dist/caller.js unix:/run/toolrack/agent.sock ../../../proto echo '{"text": "hello"}'
import { connect } from "./toolrack";

const [address, protos, name, json] = process.argv.slice(2);
const client = connect("ToolService", address, protos);
const deadline = Date.now() + 30_000;
client.CallTool({ name, arguments_json: json ?? "{}" }, { deadline }, (error: any, response: any) => {
  client.close();
  if (error) {
    console.error(error.details);
    process.exitCode = 2;
    return;
  }
  for (const part of response.result.content) {
    console.log(part.text?.text ?? part.json?.json ?? `[${part.content}]`);
  }
  process.exitCode = response.result.is_error ? 1 : 0;
});
