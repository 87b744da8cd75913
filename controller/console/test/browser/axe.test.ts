// SPDX-License-Identifier: Apache-2.0
// axe-core finds nothing, in every state of the page, in both themes and at the smallest and the
// largest width. For the documentation, see docs.test.ts.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock } from '../../dev/mock-server.mjs';
import { violations } from './axe';
import { launch } from './chromium';

const LOOKS = [
  [1440, false],
  [1440, true],
  [390, false],
  [390, true],
] as const;

let browser: Browser;
let mock: Mock;
let page: Page;

async function open(width: number, dark: boolean, options: Parameters<typeof startMock>[0] = {}): Promise<void> {
  mock = await startMock({ warmSeconds: 60, ...options });
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? 'dark' : 'light' });
  page = await context.newPage();
  await page.goto(mock.url);
}

const post = (path: string, data: object) => page.request.post(`${mock.url}mock/${path}`, { data });
const say = (data: object) => post('say', data);

/** Waits for the headline, and checks that there are no findings. */
async function clean(headline: string): Promise<void> {
  await expect.poll(() => page.locator('.state-word').textContent(), { timeout: 60_000 }).toBe(headline);
  // The rest of the page is drawn a frame after the headline.
  await page.waitForTimeout(300);
  expect(await violations(page), headline).toEqual([]);
}

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await page?.context().close();
  await mock?.close();
});

describe.each(LOOKS)('at %i px, dark %s', (width, dark) => {
  it('live, held and asking', async () => {
    await open(width, dark);
    await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
    await clean('Live');
    await page.locator('.rule summary').first().click();
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await expect.poll(() => page.locator('.hold-note').textContent(), { timeout: 120_000 }).toMatch(/All of its packets are kept/);
    expect(await violations(page), 'held').toEqual([]);
    for (let i = 0; i < 4; i += 1) await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/Every dot/);
    expect(await violations(page), 'packets').toEqual([]);
    await page.getByRole('button', { name: 'Apply to switch' }).click();
    await page.locator('dialog.confirm').waitFor();
    expect(await violations(page), 'dialog').toEqual([]);
  });

  it('in doubt, idle, behind, without its collector, stale and disconnected', async () => {
    await open(width, dark);
    await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
    await post('counters', { reports_lost: 5000 });
    await clean('Losing reports');
    await post('counters', { reports_lost: 0 });
    await say({ link: { stale: true, age_s: 20, node_age_s: 0.2 } });
    await clean('Idle');
    await say({ link: { age_s: 20, node_age_s: 20, lag_s: 19 } });
    await clean('Behind');
    await say({ link: { lag_s: 0.02 } });
    await clean('Stale');
    const collector = { address: '127.0.0.1:9560', connected: false, problem: 'connection refused', status: null };
    await say({ status: { collectors: [collector], drift: [{ node: 10, port: 5, expected: { action: 'drop_tail', limit_bytes: 1 }, found: { action: 'unlimited' }, unix_ms: 1, answer: 'keep' }] } });
    await clean('Collector away');
    await mock.close();
    await clean('Disconnected');
  });

  it('of a finished run, while it is read, and where it cannot be', async () => {
    await open(width, dark);
    const run = { capture: '/runs/one', ended_unix_ms: 2, notes: ['12 reports were lost'], problem: null, read_fraction: 0.4, seconds: 20, started_unix_ms: 1 };
    const read = (more: object) => say({ status: { recording: { ...run, ...more } } });
    await read({});
    await clean('Reading');
    await read({ read_fraction: 1 });
    await clean('Recorded');
    await read({ problem: 'a file is cut off' });
    await clean('Not read');
  });

  it('without reports, and of many ports', async () => {
    await open(width, dark, { noLinks: true });
    await clean('No reports yet');
    await page.context().close();
    await mock.close();
    await open(width, dark, { manyLinks: 62 });
    await page.locator('.overview-table tbody tr').first().waitFor({ timeout: 60_000 });
    await clean('Live');
  });
});
