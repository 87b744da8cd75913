// SPDX-License-Identifier: Apache-2.0
// The page of the real controller: what it shows is what the API says, what it
// applies is in the switch, and it says so when the controller is gone.

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch } from './chromium';
import { missingPrograms, NODE, PORT, type Programs, startPrograms } from './programs';

const missing = missingPrograms();
if (missing.length > 0) console.warn(`NOT TESTED against the real programs: ${missing.join(', ')} not built (make build)`);

interface AnyLink {
  limit: { limit_bytes: number } | null;
  reported_limit_bytes: number | null;
  capture_start_ns: number;
  estimate: { estimates: { n_b: { value: number }; delta: { value: number } | null }; classes: { lbp: number }; flows: unknown[]; from_ns: number } | null;
  advice: { limit_bytes: number | null } | null;
}

let browser: Browser;
let page: Page;
let programs: Programs;
const problems: string[] = [];

const link = async (): Promise<AnyLink> => (await programs.get(`links/${NODE}/${PORT}`)) as AnyLink;

describe.skipIf(missing.length > 0)('the page of a running controller', () => {
  beforeAll(async () => {
    [browser, programs] = [await launch(), await startPrograms()];
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.on('pageerror', (e) => problems.push(e.message));
    // A controller that is gone, or refuses, is told by the page; what its policy refuses only here.
    page.on('console', (m) => {
      if (m.type() === 'error' && m.text().includes('Content Security Policy')) problems.push(m.text());
    });
    await page.goto(programs.url);
    await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 90_000 });
  }, 180_000);

  afterAll(async () => {
    await browser?.close();
    await programs?.close();
  });

  /** What the page shows, and what the API says in the same moment, as often as it takes until both are of one second. */
  async function same(shown: () => Promise<unknown>, said: (l: AnyLink) => unknown): Promise<void> {
    await expect.poll(async () => {
      const before = said(await link());
      const now = await shown();
      const after = said(await link());
      return now === before || now === after ? 'the same' : `page ${String(now)}, API ${String(before)}`;
    }).toBe('the same');
  }

  it('shows the estimates, flows and limit that the API says', async () => {
    const tile = (i: number) => page.locator('.estimate').nth(i).locator('.value').textContent();
    await same(() => tile(0), (l) => {
      const v = l.estimate?.estimates.n_b.value ?? Number.NaN;
      return Math.abs(v - Math.round(v)) < 0.005 ? String(Math.round(v)) : v.toFixed(1);
    });
    await same(() => page.locator('.class-counts').textContent().then((t) => Number.parseInt(t ?? '', 10)), (l) => l.estimate?.classes.lbp);
    const { rules } = (await programs.get(`rules?node=${NODE}&port=${PORT}`)) as { rules: unknown[] };
    await expect.poll(() => page.locator('.rules-list .rule').count()).toBe(rules.length);
    const counters = ((await programs.get('status')) as { collectors: { status: { reports_received: number } }[] }).collectors[0]?.status.reports_received ?? 0;
    await expect.poll(async () => Number((await page.locator('.counters dd').first().textContent())?.replace(/\D/g, ''))).toBeGreaterThanOrEqual(counters);
  });

  it('draws windows and W(t) from the senders’ samples', async () => {
    await expect.poll(() => page.locator('.reading-cwnd b').textContent()).toBe('3 of 3');
    await expect.poll(() => page.locator('.reading-sum b').textContent()).toMatch(/^\d.*B; \d.*B$/);
    await expect.poll(() => page.locator('.reading-sum small').textContent()).toMatch(/^\d+ of \d+ flows probed; BDP \d/);
  });

  it('shows single packets with their flow and sequence, and keeps what is held', async () => {
    await page.getByRole('button', { name: '10 s', exact: true }).click();
    const over = page.locator('.plot-occupancy .u-over');
    await over.evaluate((e) => e.scrollIntoView({ block: 'center' }));
    // Again where the recording has just begun anew, and nothing is there yet.
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Back to live' }).click({ timeout: 500 }).catch(() => {});
          const box = await over.boundingBox();
          if (!box) return 'no plot';
          await page.mouse.move(box.x + box.width * 0.5, box.y + 80);
          await page.mouse.down();
          await page.mouse.move(box.x + box.width * 0.58, box.y + 80, { steps: 4 });
          await page.mouse.up();
          await page.waitForTimeout(1500);
          return page.locator('.hold-note').textContent();
        },
        { timeout: 60_000, interval: 500 },
      )
      .toMatch(/Every dot is a packet at its arrival \(\d{2,}\)/);
    await page.getByRole('button', { name: 'Packet after' }).click();
    const fact = (name: string) => page.locator('.packet-facts div', { hasText: name }).first().locator('dd').textContent();
    expect(await fact('Flow')).toMatch(/^[\d.:]+ → /);
    expect(await fact('Sequence')).toMatch(/^\d+$/);
    expect(page.url()).toMatch(/link=10:1.*&from=[\d.]+&to=[\d.]+/);
    await page.getByRole('button', { name: 'Back to live' }).click();
  });

  it('applies the advice to the switch, and says that reports state another limit', async () => {
    const apply = page.getByRole('button', { name: 'Apply to switch' });
    await expect.poll(() => apply.isEnabled(), { timeout: 90_000 }).toBe(true);
    const dialog = page.locator('dialog.confirm');
    // The advice changes while the page is live: the button may move, or be disabled for a
    // moment, as it is pressed.
    await expect
      .poll(
        async () => {
          if (!(await dialog.isVisible())) await apply.click({ timeout: 2_000 }).catch(() => {});
          return dialog.isVisible();
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    expect(await dialog.locator('.expected').textContent()).toContain('expected');
    await page.getByLabel('Control token').fill(programs.token());
    await expect
      .poll(
        async () => {
          if (await dialog.isVisible()) await dialog.getByRole('button', { name: 'Apply', exact: true }).click({ timeout: 2000 }).catch(() => {});
          return page.locator('.outcome').textContent();
        },
        { timeout: 60_000, interval: 1000 },
      )
      .toContain('The switch was read back');
    const said = (await page.locator('.outcome').textContent()) ?? '';
    expect(said).toContain(String((await link()).limit?.limit_bytes));
    await expect.poll(() => page.locator('.audit-table tbody tr').count()).toBeGreaterThan(0);
    // The recording does not follow the switch.
    await expect.poll(() => page.locator('.health .state').textContent(), { timeout: 60_000 }).toContain('Limits differ');
  });

  it('keeps the history of the estimates over a reload', async () => {
    const known = async (): Promise<number> => ((await programs.get(`links/${NODE}/${PORT}/estimates`)) as { time_ns: number[] }).time_ns.length;
    await expect.poll(known).toBeGreaterThan(3);
    await page.reload();
    await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
    // The line is there at once, not from now on.
    await page.waitForTimeout(1500);
    const menu = page.locator('summary[aria-label="Save the chart: N_b over time"]');
    await menu.click({ force: true });
    const [file] = await Promise.all([page.waitForEvent('download'), menu.locator('xpath=..').getByRole('button', { name: 'CSV' }).click()]);
    const rows = readFileSync(await file.path(), 'utf8').trim().split('\n').length;
    expect(rows).toBeGreaterThan(3);
  });

  it('says so when the controller is gone, and recovers', async () => {
    await programs.stopController();
    await page.locator('.health[data-level="lost"]').waitFor({ timeout: 60_000 });
    expect(await page.locator('.health .state').textContent()).toContain('Disconnected');
    await programs.startController();
    await page.locator('.health:not([data-level="lost"])').waitFor({ timeout: 60_000 });
    expect(problems).toEqual([]);
  });
});
