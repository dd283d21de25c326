// Strict offline check of Kubernetes manifests: each document becomes a literal of its declared type, and the TypeScript
// compiler refuses unknown fields, wrong types and missing ones. Also that what must hold for a hardened sidecar holds.
// usage: manifests.mjs NODE_FOLDER FILE…   (NODE_FOLDER has node_modules with yaml, typescript, kubernetes-types)
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const [nodeFolder, ...files] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(nodeFolder), '/'));
const YAML = require('yaml');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'manifests-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
fs.symlinkSync(path.resolve(nodeFolder, 'node_modules'), path.join(folder, 'node_modules'));

const faults = [];
let documents = 0;
for (const file of files) {
  for (const parsed of YAML.parseAllDocuments(fs.readFileSync(file, 'utf8'), { uniqueKeys: true })) {
    faults.push(...parsed.errors.map((error) => `${file}: ${error.message}`));
    const object = parsed.toJS();
    if (!object) continue;
    const group = object.apiVersion === 'v1' ? 'core/v1' : object.apiVersion.replace(/\.k8s\.io|\.authorization/g, '');
    fs.writeFileSync(
      path.join(folder, `${documents}_${object.kind}.ts`),
      `import type { ${object.kind} } from 'kubernetes-types/${group}';\n` +
        `// ${file}\nexport const manifest: ${object.kind} = ${JSON.stringify(object, null, 1)};\n`,
    );
    documents++;
    if (object.kind === 'Pod') faults.push(...hardening(object.spec).map((fault) => `${file}: ${fault}`));
  }
}

function hardening(spec) {
  const found = [];
  const expect = (held, text) => held || found.push(text);
  const pod = spec.securityContext ?? {};
  expect(pod.runAsNonRoot === true && pod.runAsUser > 0, 'the pod may run as root');
  expect(pod.seccompProfile?.type === 'RuntimeDefault', 'no seccomp profile');
  expect(spec.automountServiceAccountToken === false, 'the service account token is mounted');
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const own = container.securityContext ?? {};
    expect(own.readOnlyRootFilesystem === true, `${container.name}: its root file system can be written`);
    expect(own.allowPrivilegeEscalation === false, `${container.name}: may gain privileges`);
    expect(own.capabilities?.drop?.includes('ALL'), `${container.name}: keeps capabilities`);
    for (const mount of container.volumeMounts ?? []) {
      expect(spec.volumes.some((volume) => volume.name === mount.name), `${container.name}: no volume ${mount.name}`);
    }
  }
  return found;
}

fs.writeFileSync(
  path.join(folder, 'tsconfig.json'),
  JSON.stringify({
    compilerOptions: { strict: true, noEmit: true, module: 'nodenext', moduleResolution: 'nodenext', skipLibCheck: true,
                       types: [] },
    include: ['*.ts'],
  }),
);
try {
  const tsc = path.join(folder, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8' });
} catch (error) {
  faults.push(error.stdout || String(error));
}
if (documents === 0) faults.push('no document found');
console.log(faults.length ? faults.join('\n') : `${documents} documents are right`);
process.exitCode = faults.length ? 1 : 0;
