// usage: node ajv.mjs FILE: one line {"schema": …, "instances": […]} after the other; writes one line each, "1" or "0" for
// every instance, or "refused".
import fs from "node:fs";
import Ajv from "ajv";
import Ajv2019 from "ajv/dist/2019.js";
import Ajv2020 from "ajv/dist/2020.js";

const options = {strict: false, validateFormats: false, logger: false, addUsedSchema: false};
const dialects = [[/draft-0[67]/, new Ajv.default(options)], [/2019-09/, new Ajv2019.default(options)],
  [/./, new Ajv2020.default(options)]];

function verdicts({schema, instances}) {
  const declared = typeof schema === "object" && schema.$schema || "2020-12";
  const [, ajv] = dialects.find(([pattern]) => pattern.test(declared));
  try {
    const validate = ajv.compile(schema);
    return instances.map((instance) => validate(instance) ? "1" : "0").join("");
  } catch {
    return "refused";
  }
}

for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
  if (line) console.log(verdicts(JSON.parse(line)));
}
