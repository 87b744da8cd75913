// SPDX-License-Identifier: Apache-2.0
// The page of `tidemark-controller view`: it says that the run is finished, and shows the values of
// the API, all of the run in the charts, down to single packets.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './chromium';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));
const PROGRAM = join(process.env.TIDEMARK_BIN_DIR ?? join(REPOSITORY, 'target', 'release'), 'tidemark-controller');
const CAPTURE = join(REPOSITORY, 'collector', 'capture', 'tests', 'fixtures', 'capture-63e1e1a');

/** Real TCP on a full link; see its README. */
const FOUR_FLOWS = join(REPOSITORY, 'common', 'test-support', 'recorded', 'four_flows');

const built = (() => {
  try {
    accessSync(PROGRAM);
    return true;
  } catch {
    console.warn('NOT TESTED with a finished run: tidemark-controller is not built (make build)');
    return false;
  }
})();

let browser: Browser;
let page: Page;
let program: ChildProcess;
let url = '';
const problems: string[] = [];

async function get<T>(path: string): Promise<T> {
  return (await (await fetch(`${url}api/v1/${path}`)).json()) as T;
}

/** Resolves with the address of the console. */
function started(p: ChildProcess): Promise<string> {
  return new Promise((done, failed) => {
    let out = '';
    p.stdout?.on('data', (d: Buffer) => {
      out += d.toString();
      const found = /console: (http:\S+)/.exec(out)?.[1];
      if (found) done(found);
    });
    p.once('exit', () => failed(new Error(`the program ended: ${out}`)));
  });
}

describe.skipIf(!built)('the page of a finished run', () => {
  beforeAll(async () => {
    program = spawn(PROGRAM, ['view', CAPTURE, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    url = await started(program);
    browser = await launch();
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.on('pageerror', (e) => problems.push(e.message));
    await page.goto(url);
    await page.locator('.state-word', { hasText: 'Recorded' }).waitFor({ timeout: 60_000 });
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    program?.kill('SIGTERM');
  });

  it('says that it is recorded, and not live', async () => {
    expect(await page.locator('.health').getAttribute('data-level')).toBe('recorded');
    expect(await page.locator('.state-detail').textContent()).toMatch(/^A finished run of 39\.\d s, read from .*capture-63e1e1a\. Nothing can be set\./);
    expect(await page.getByText('Live', { exact: true }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Back to live' }).count()).toBe(0);
  });

  it('shows all of the run, and the estimates of the API', async () => {
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/^Held/);
    const { links } = await get<{ links: { estimate: { estimates: { n_b: { value: number } }; classes: { lbp: number } } }[] }>('links');
    const estimate = links[0]?.estimate;
    await expect.poll(() => page.locator('.estimate').first().locator('.value').textContent()).toBe(String(Math.round(estimate?.estimates.n_b.value ?? -1)));
    await expect.poll(() => page.locator('.class-counts').textContent().then((t) => Number.parseInt(t ?? '', 10))).toBe(estimate?.classes.lbp);
    expect(page.url()).toMatch(/from=.*to=/);
  });

  it('lists the phases and holds the one that is clicked', async () => {
    const row = page.locator('.phases tbody tr');
    await expect.poll(() => row.count()).toBe(1);
    expect(await row.textContent()).toMatch(/^run0\.0 s to 39\.\d s/);
    await row.getByRole('button').click();
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/^Held/);
  });

  it('zooms to single packets, read from the files', async () => {
    for (let i = 0; i < 5; i += 1) {
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await page.waitForTimeout(200);
    }
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/Every dot is a packet at its arrival \([1-9]\d*\)/);
    await page.getByRole('button', { name: 'Whole run' }).click();
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/Choose 2\.5 s or less/);
  });

  it('lets nobody change anything', async () => {
    expect(await page.getByRole('button', { name: /^Apply/ }).first().isDisabled()).toBe(true);
    expect(await page.locator('.targets').isHidden()).toBe(true);
    await expect.poll(() => page.locator('.advice').textContent()).toContain('this is a finished run');
    expect(problems).toEqual([]);
  });
});

describe.skipIf(!built)('W(t) of a run on a link that is full', () => {
  it('is Q(t) + BDP within 3 %', async () => {
    const viewer = spawn(PROGRAM, ['view', FOUR_FLOWS, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const own = await launch();
    try {
      const shown = await (await own.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true })).newPage();
      await shown.goto(await started(viewer));
      await shown.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
      await expect.poll(() => shown.locator('.hold-note').textContent()).toMatch(/^Held/);
      await expect.poll(() => shown.locator('.reading-sum b').textContent()).toMatch(/^\d.*B; \d.*B$/);
      const menu = shown.locator('summary[aria-label="Save the chart: W against Q and BDP"]');
      const download = shown.waitForEvent('download');
      await menu.click({ force: true });
      await menu.locator('xpath=..').getByRole('button', { name: 'CSV' }).click();
      const file = await download;
      const [head = [], ...rows] = readFileSync(await file.path(), 'utf8').trim().split('\n').map((l) => l.split(','));
      const column = (name: string): number => head.indexOf(name);
      const [time, queue, w] = [column('time_s'), column('queue_plus_bdp_bytes'), column('in_flight_bytes')];
      const last = Number(rows.at(-1)?.[time]);
      // After the slow start, and before the flows end.
      const full = rows.filter((r) => Number(r[time]) > last - 6 && Number(r[time]) < last - 0.5 && r[queue] && r[w]);
      expect(full.length).toBeGreaterThan(40);
      const mean = (k: number): number => full.reduce((sum, r) => sum + Number(r[k]), 0) / full.length;
      expect(Math.abs(mean(w) / mean(queue) - 1)).toBeLessThan(0.03);
    } finally {
      await own.close();
      viewer.kill('SIGTERM');
    }
  });
});
