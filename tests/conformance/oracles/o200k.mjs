// usage: node o200k.mjs FILE: a JSON string a line; writes how many tokens of o200k_base each is.
import fs from "node:fs";
import {encode} from "gpt-tokenizer/encoding/o200k_base";

for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
  if (line) console.log(encode(JSON.parse(line), {disallowedSpecial: new Set()}).length);
}
