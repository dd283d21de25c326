// Prints the pod of a manifest as podman 4.3 can play it: native sidecars become containers, images are the one given and
// never pulled. Everything else stays.
// usage: pod.mjs NODE_FOLDER FILE IMAGE POD_NAME
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [nodeFolder, file, image, name] = process.argv.slice(2);
const YAML = createRequire(path.join(path.resolve(nodeFolder), '/'))('yaml');

const documents = YAML.parseAllDocuments(fs.readFileSync(file, 'utf8')).map((document) => document.toJS());
for (const document of documents.filter((each) => each.kind === 'Pod')) {
  const { spec } = document;
  document.metadata.name = name;
  spec.containers = [...(spec.initContainers ?? []), ...spec.containers];
  delete spec.initContainers;
  for (const container of spec.containers) {
    delete container.restartPolicy;
    container.image = image;
    container.imagePullPolicy = 'Never';
  }
}
console.log(documents.map((document) => YAML.stringify(document)).join('---\n'));
