// SPDX-License-Identifier: Apache-2.0
// `tidemark demo --replay`, watched to its end: the page switches from the live run to the recorded
// one by itself.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './chromium';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));
const BIN_DIR = process.env.TIDEMARK_BIN_DIR ?? join(REPOSITORY, 'target', 'release');
const PACKAGES = join(REPOSITORY, 'deploy', 'packages');
/** 39 s, played at four times the speed. */
const RECORDED = join(REPOSITORY, 'collector', 'daemon', 'fixtures', 'import');
const SPEED = '4';
/** The demonstration uses this port and the next three. */
const PORTS = 4;

const built = ['tidemark-collector', 'tidemark-controller'].every((name) => {
  try {
    accessSync(join(BIN_DIR, name));
    return true;
  } catch {
    console.warn(`NOT TESTED to the end of the demonstration: ${name} is not built (make build)`);
    return false;
  }
});

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}

async function freePort(): Promise<number> {
  for (let port = 26_000; port < 32_000; port += PORTS) {
    const ports = Array.from({ length: PORTS }, (_, i) => port + i);
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return port;
  }
  throw new Error('no port');
}

describe.skipIf(!built)('the demonstration from a recorded run', () => {
  let browser: Browser;
  let program: ChildProcess;
  let said = '';
  let port = 0;
  const dir = mkdtempSync(join(tmpdir(), 'tidemark-replayed-'));

  beforeAll(async () => {
    const share = join(dir, 'share');
    mkdirSync(share);
    for (const from of [join(PACKAGES, 'demo'), RECORDED]) cpSync(from, join(share, 'demo'), { recursive: true });
    port = await freePort();
    program = spawn(join(PACKAGES, 'front', 'tidemark'), ['demo', '--replay', '--port', `${port}`, '--speed', SPEED], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TIDEMARK_SHARE: share, TIDEMARK_BIN_DIR: BIN_DIR, TMPDIR: dir },
    });
    program.stdout?.on('data', (d: Buffer) => {
      said += d.toString();
    });
    browser = await launch();
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    program?.kill('SIGTERM');
    if (program && program.exitCode === null) await new Promise((done) => program.once('exit', done));
    rmSync(dir, { recursive: true, force: true });
  });

  it('is live, and then shows the whole recorded run', async () => {
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    const problems: string[] = [];
    page.on('pageerror', (e) => problems.push(e.message));
    await expect.poll(() => said).toContain(`Console: http://127.0.0.1:${port}`);
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.locator('.health[data-level=live], .health[data-level=doubt]').waitFor({ timeout: 60_000 });
    await page.locator('.health[data-level=recorded]').waitFor({ timeout: 120_000 });
    expect(said).toContain('The run has ended. The console shows all of it');
    expect(await page.locator('.state-detail').textContent()).toMatch(/^A finished run of 39\.\d s/);
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/^Held/);
    await expect.poll(() => page.url()).toMatch(/from=.*to=/);
    await expect.poll(() => page.locator('.phases tbody tr').first().textContent()).toMatch(/^run0\.0 s to 39\.\d s/);
    expect(problems).toEqual([]);
  });
});
