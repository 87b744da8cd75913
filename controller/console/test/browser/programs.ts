// SPDX-License-Identifier: Apache-2.0
// The real programs: a recorded run is replayed into a collector, again and again, the controller
// estimates it, and an embedded switch holds the limits.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));
const BIN_DIR = process.env.TIDEMARK_BIN_DIR ?? join(REPOSITORY, 'target', 'release');
/** The run that `tidemark demo --replay` shows. */
const RUN = 'bscl_n20_bdp';
export const NODE = 10;
export const PORT = 1;

/** Returns the programs that are not built; a test that needs them is skipped. */
export function missingPrograms(): string[] {
  return ['tidemark-collector', 'tidemark-controller', 'tidemark-switch'].filter((name) => {
    try {
      accessSync(join(BIN_DIR, name));
      return false;
    } catch {
      return true;
    }
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface Programs {
  url: string;
  /** Returns the operator's token, which the controller generated at its start. */
  token: () => string;
  /** Fetches the API's answer. */
  get: (path: string) => Promise<unknown>;
  /** Ends the controller; `startController` starts another one at the same address. */
  stopController: () => Promise<void>;
  startController: () => Promise<void>;
  close: () => Promise<void>;
}

async function eventually(what: string, test: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    if (await test().catch(() => false)) return;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`it does not happen: ${what}`);
}

function ended(p: ChildProcess): Promise<void> {
  if (p.exitCode !== null || p.signalCode !== null) return Promise.resolve();
  return new Promise((done) => p.once('exit', () => done()));
}

/** Starts everything; the page is at `url`. */
export async function startPrograms(): Promise<Programs> {
  const dir = mkdtempSync(join(tmpdir(), 'tidemark-console-'));
  execFileSync('python3', [join(REPOSITORY, 'common', 'test-support', 'golden', 'reduce.py'), '--unpack', RUN, '--out', dir]);
  const [reports, grpc, http, console, device] = [await freePort(), await freePort(), await freePort(), await freePort(), await freePort()];
  const demo = join(REPOSITORY, 'deploy', 'packages', 'demo', 'collector.toml');
  const collector = readFileSync(demo, 'utf8')
    .replace('@REPORTS@', `127.0.0.1:${reports}`)
    .replace('@TELEMETRY@', `127.0.0.1:${grpc}`)
    .replace('@METRICS@', `127.0.0.1:${http}`)
    .replace('@CAPTURE@', join(dir, 'capture'));
  writeFileSync(join(dir, 'collector.toml'), collector);
  const build = join(REPOSITORY, 'p4src', 'build');
  writeFileSync(
    join(dir, 'controller.toml'),
    `collectors = ["127.0.0.1:${grpc}"]
[http]
listen = "127.0.0.1:${console}"
token_file = "${join(dir, 'token')}"
[control]
mode = "confirm"
min_change_interval_s = 1
[targets]
utilisation = 0.98
loss_rate = 0.01
[[links]]
node = ${NODE}
port = ${PORT}
[[switches]]
node = ${NODE}
address = "127.0.0.1:${device}"
[switches.provision]
p4info = "${join(build, 'tidemark.p4info.txtpb')}"
program = "${join(build, 'tidemark.json')}"
`,
  );
  const running = new Map<string, ChildProcess>();
  let closing = false;
  const start = (name: string, ...args: string[]): ChildProcess => {
    const log = openSync(join(dir, `${name}.log`), 'a');
    const p = spawn(join(BIN_DIR, name), args, { stdio: ['ignore', log, log] });
    running.set(args[0] === 'replay' ? 'replay' : name, p);
    return p;
  };
  const get = async (path: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${console}/api/v1/${path}`)).json();
  const startController = async (): Promise<void> => {
    start('tidemark-controller', 'run', '--config', join(dir, 'controller.toml'));
    await eventually('the controller answers', async () => (await get('status')) !== null);
  };
  const stop = async (name: string): Promise<void> => {
    const p = running.get(name);
    if (!p) return;
    p.kill('SIGTERM');
    await ended(p);
    running.delete(name);
  };
  const replay = (): void => {
    if (closing) return;
    const to = ['--to', `127.0.0.1:${reports}`, '--agent', `127.0.0.1:${grpc}`];
    const p = start('tidemark-collector', 'replay', '--pcap', join(dir, 'reports.pcap.gz'), '--tcp-probe', join(dir, 'tcp_probe.txt.gz'), ...to);
    p.once('exit', replay);
  };
  const close = async (): Promise<void> => {
    closing = true;
    for (const name of [...running.keys()]) await stop(name);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    start('tidemark-switch', 'run', '--grpc', `127.0.0.1:${device}`);
    start('tidemark-collector', 'run', '--config', join(dir, 'collector.toml'));
    await eventually('the collector answers', async () => (await fetch(`http://127.0.0.1:${http}/metrics`)).ok);
    await startController();
    replay();
    await eventually('the link reports', async () => ((await get('links')) as { links: unknown[] }).links.length > 0);
  } catch (e) {
    const logs = ['tidemark-switch', 'tidemark-collector', 'tidemark-controller'].map((n) => {
      try {
        return `${n}:\n${readFileSync(join(dir, `${n}.log`), 'utf8').slice(-1500)}`;
      } catch {
        return '';
      }
    });
    await close();
    throw new Error(`${e instanceof Error ? e.message : String(e)}\n${logs.join('\n')}`);
  }
  const token = (): string => readFileSync(join(dir, 'token'), 'utf8').trim();
  return { url: `http://127.0.0.1:${console}/`, token, get, stopController: () => stop('tidemark-controller'), startController, close };
}
