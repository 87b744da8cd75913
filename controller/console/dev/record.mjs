// SPDX-License-Identifier: Apache-2.0
// Saves a running controller's answers to dev/fixtures/, shortened, as input of
// the unit tests of src/api.
//
//   node dev/record.mjs http://127.0.0.1:8080/

import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const FLOWS_KEPT = 24;
const ROUTES = ['status', 'links', 'advice', 'changes', 'verdict', 'findings'];

/** Shortens an answer: drops bulk, most flows, and what is specific to this machine. */
function shortened(key, value) {
  if (key === 'flows' && Array.isArray(value)) return value.slice(0, FLOWS_KEPT);
  return key === 'capture_dir' ? '' : value;
}

const base = new URL('api/v1/', process.argv[2] ?? 'http://127.0.0.1:8080/');
const out = fileURLToPath(new URL('fixtures/', import.meta.url));
await mkdir(out, { recursive: true });

async function save(name, path) {
  const response = await fetch(new URL(path, base));
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  await writeFile(`${out}${name}.json`, `${JSON.stringify(await response.json(), shortened, 1)}\n`);
}

for (const route of ROUTES) await save(route.replace(/\?.*/, ''), route);
const { links } = await (await fetch(new URL('links', base))).json();
const l = links[0];
if (!l) throw new Error('the controller knows no link yet');
// The picture, for paper and for a page.
for (const [name, width] of [['verdict-paper', ''], ['verdict-page', '&width=640'], ['verdict-phone', '&width=350']]) {
  const response = await fetch(new URL(`verdict?node=${l.node}&port=${l.port}&format=svg${width}`, base));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
  await writeFile(`${out}${name}.svg`, await response.text());
}
await save('series', `links/${l.node}/${l.port}/series?last_s=2&max_points=20`);
await save('packets', `links/${l.node}/${l.port}/packets?last_s=0.05&max_packets=200`);
process.stderr.write(`saved to ${out}\n`);
