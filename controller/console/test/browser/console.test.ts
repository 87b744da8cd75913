// SPDX-License-Identifier: Apache-2.0
// The built page in a real browser, against the stand-in controller. With TIDEMARK_URL it loads the
// page of a running controller instead, and only looks, without changing anything.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Mock, startMock, TOKEN } from '../../dev/mock-server.mjs';
import { launch } from './chromium';

const REAL = process.env.TIDEMARK_URL;

let browser: Browser;
let mock: Mock;
let page: Page;
let problems: string[] = [];
let foreign: string[] = [];

/** Counts the different colours in a part of a canvas (in shares of its size). */
async function inkOf(selector: string): Promise<{ colours: number; drawn: number }> {
  return page.locator(`${selector} canvas`).evaluate((node) => {
    const c = node as HTMLCanvasElement;
    const g = c.getContext('2d');
    if (!g) return { colours: 0, drawn: 0 };
    const { data } = g.getImageData(c.width * 0.15, 0, c.width * 0.8, c.height);
    const seen = new Set<number>();
    let drawn = 0;
    for (let i = 0; i < data.length; i += 4) {
      if ((data[i + 3] ?? 0) < 40) continue;
      drawn += 1;
      seen.add(((data[i] ?? 0) << 16) | ((data[i + 1] ?? 0) << 8) | (data[i + 2] ?? 0));
    }
    return { colours: seen.size, drawn };
  });
}

/** Whether a canvas has pixels of approximately this colour. */
async function hasColour(selector: string, property: string): Promise<boolean> {
  return page.locator(`${selector} canvas`).evaluate((node, name) => {
    const c = node as HTMLCanvasElement;
    const g = c.getContext('2d', { willReadFrequently: true });
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const want = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
    if (!g) return false;
    const { data } = g.getImageData(0, 0, c.width, c.height);
    for (let i = 0; i < data.length; i += 4) {
      if ((data[i + 3] ?? 0) < 200) continue;
      if (want.every((w, k) => Math.abs((data[i + k] ?? 0) - w) < 24)) return true;
    }
    return false;
  }, property);
}

async function open(options: { width?: number; height?: number; dark?: boolean } = {}): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.dark ? 'dark' : 'light',
  });
  page = await context.newPage();
  problems = [];
  foreign = [];
  page.on('pageerror', (e) => problems.push(e.message));
  // Only here do refusals by the page's policy appear.
  page.on('console', (m) => {
    if (m.type() === 'error' && m.text().includes('Content Security Policy')) problems.push(m.text());
  });
  const base = REAL ?? mock.url;
  page.on('request', (r) => {
    if (!r.url().startsWith(base) && !r.url().startsWith('data:') && !r.url().startsWith('blob:')) foreign.push(r.url());
  });
  await page.goto(base);
  await page.locator('.health[data-level="live"]').waitFor({ timeout: 60_000 });
  await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
}

beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
});
beforeEach(async () => {
  if (!REAL) mock = await startMock({ warmSeconds: 40 });
});
afterEach(async () => {
  await page?.context().close();
  await mock?.close();
});

describe('console', () => {
  it('draws the occupancy with limit and drops, and asks nobody else for anything', async () => {
    await open();
    await page.waitForTimeout(1500);
    const { drawn, colours } = await inkOf('.plot-occupancy');
    expect(drawn).toBeGreaterThan(5000);
    expect(colours).toBeGreaterThan(3);
    if (!REAL) {
      expect(await hasColour('.plot-occupancy', '--limit')).toBe(true);
      expect(await hasColour('.plot-occupancy', '--drop')).toBe(true);
    }
    expect(await page.locator('.marginal-box').textContent()).toMatch(/median \d/);
    expect(problems).toEqual([]);
    expect(foreign).toEqual([]);
  });

  it('shows the numbers with their units', async () => {
    await open();
    const readings = page.locator('.readings');
    await expect.poll(() => readings.locator('.key-p50 dd').textContent()).toMatch(/^\d[\d.]* [kM]?B$/);
    if (REAL) return;
    expect(await readings.locator('.key-limit dd').textContent()).toBe('313 kB');
    expect(await page.locator('.estimate').first().locator('.value').textContent()).toMatch(/^1[23]$/);
    expect(await page.locator('.flow-table tbody tr').count()).toBe(16);
    await page.getByLabel('Show short flows').check();
    expect(await page.locator('.flow-table tbody tr').count()).toBe(17);
    expect(await page.locator('.flow-table tbody tr[data-class="LBP"]').count()).toBe(12);
    await expect.poll(() => page.locator('.advised-size').textContent()).toBe('158 kB');
    await page.getByRole('button', { name: 'packets', exact: true }).click();
    await expect.poll(() => page.locator('.advised-size').textContent()).toBe('104 pkts');
    expect(await page.locator('.rule').count()).toBe(19);
    const stanford = page.locator('.rule[data-key="stanford"]');
    expect(await stanford.getAttribute('data-standing')).toBe('fails');
    expect(await stanford.locator('.rule-why').textContent()).toContain('hundreds of flows');
    await expect.poll(() => page.locator('.counters dd').first().textContent()).toMatch(/\d/);
  });

  it.skipIf(REAL)('shows rules of which not all is known like neither those that hold nor those that fail', async () => {
    await open();
    const look = (id: string) => page.locator(`.rule[data-key="${id}"] .rule-bar`).evaluate((e) => {
      const s = getComputedStyle(e);
      return [s.borderTopWidth, s.backgroundColor, s.backgroundImage].join(' ');
    });
    const unknown = page.locator('.rule[data-key="bdp"]');
    await expect.poll(() => unknown.getAttribute('data-standing')).toBe('unknown');
    expect(await unknown.locator('.rule-why').textContent()).toBe('Not known: windows are at most halved on loss (always sufficient then)');
    expect(await unknown.locator('summary').textContent()).toContain('not all of its assumptions are known');
    expect(new Set([await look('bdp'), await look('bscl'), await look('stanford')]).size).toBe(3);
    expect(await page.locator('.rules-looks').textContent()).toBe('assumptions holdnot all knownset aside');
  });

  it('draws every other chart too', async () => {
    await open();
    await page.waitForTimeout(2500);
    const canvases = page.locator('.uplot canvas');
    expect(await canvases.count()).toBe(11);
    for (let i = 0; i < 11; i += 1) {
      const drawn = await canvases.nth(i).evaluate((node) => {
        const c = node as HTMLCanvasElement;
        const { data } = c.getContext('2d')?.getImageData(0, 0, c.width, c.height) ?? { data: [] };
        let n = 0;
        for (let k = 3; k < data.length; k += 4) if ((data[k] ?? 0) > 40) n += 1;
        return n;
      });
      expect(drawn, `chart ${i}`).toBeGreaterThan(300);
    }
    expect(await page.locator('.marginal text').allTextContents()).toContain('share of arrivals, %');
    expect(await page.locator('.marginal path').first().getAttribute('d')).toMatch(/^M/);
  });

  it.skipIf(REAL)('applies the advice with a token and shows what was set', async () => {
    await open();
    const apply = page.getByRole('button', { name: 'Apply to switch' });
    await expect.poll(() => apply.isEnabled()).toBe(true);
    await apply.click();
    const dialog = page.locator('dialog.confirm');
    await dialog.waitFor();
    await page.getByLabel('Control token').fill('wrong');
    await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('does not accept this token');
    expect(mock.links[0]?.limitBytes).toBe(312_500);
    await page.getByLabel('Control token').fill(TOKEN);
    await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
    await expect.poll(() => dialog.isVisible()).toBe(false);
    expect(mock.links[0]?.limitBytes).toBe(158_000);
    await expect.poll(() => page.locator('.outcome').textContent()).toContain('158000 B');
    await expect.poll(() => page.locator('.audit-table tbody tr').count()).toBe(1);
    expect(await page.locator('.audit-table tbody tr').textContent()).toContain('312500 B → 158000 B');
    await expect.poll(() => page.locator('.readings .key-limit dd').textContent(), { timeout: 30_000 }).toBe('158 kB');
    // Kept for this tab only.
    expect(await page.evaluate(() => [sessionStorage.getItem('tidemark.token'), JSON.stringify(localStorage).includes('mock-token')])).toEqual([TOKEN, false]);
    expect(problems).toEqual([]);
  });

  it.skipIf(REAL)('follows the advice while asking, and applies what it shows', async () => {
    await open();
    const apply = page.getByRole('button', { name: 'Apply to switch' });
    await expect.poll(() => apply.isEnabled()).toBe(true);
    await apply.click();
    const dialog = page.locator('dialog.confirm');
    await page.getByLabel('Control token').fill(TOKEN);
    expect(await dialog.textContent()).toContain('to 158 kB');
    // The advice moves while the dialog is open: the limit that was shown is refused.
    const moved = page.request.post(`${mock.url}mock/advise`, { data: { bytes: 120_000 } });
    try {
      await moved;
      await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
      const refused = dialog.getByRole('alert');
      // The dialog has closed if the page had updated before the click.
      await expect.poll(async () => (await refused.textContent({ timeout: 500 }).catch(() => '')) || mock.links[0]?.limitBytes).toBeTruthy();
      await expect.poll(() => dialog.textContent()).toMatch(/to 120 kB|^$/);
      if (mock.links[0]?.limitBytes === 312_500) await dialog.getByRole('button', { name: 'Apply', exact: true }).click();
      await expect.poll(() => mock.links[0]?.limitBytes).toBe(120_000);
      await expect.poll(() => dialog.isVisible()).toBe(false);
    } finally {
      await page.request.post(`${mock.url}mock/advise`, { data: { bytes: 158_000 } });
    }
  });

  it.skipIf(REAL)('changes the targets', async () => {
    await open();
    const summary = page.getByText('Change the targets');
    await summary.waitFor();
    await summary.click();
    await page.getByLabel('Utilisation at least').fill('0');
    await page.getByRole('button', { name: 'Set targets' }).click();
    await expect.poll(() => page.locator('.targets').getByRole('alert').textContent()).toMatch(/^Utilisation/);
    await page.getByLabel('Utilisation at least').fill('95');
    await page.getByLabel('Delay at most').fill('');
    await page.getByRole('button', { name: 'Set targets' }).click();
    const dialog = page.locator('dialog.confirm');
    await dialog.waitFor();
    expect(await dialog.textContent()).toContain('utilisation at least 95.0 %, loss at most 1.00 %, no bound on delay');
    await page.getByLabel('Control token').fill(TOKEN);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await expect.poll(() => dialog.isVisible()).toBe(false);
    await expect.poll(() => page.locator('.outlook .col-target').nth(1).textContent()).toContain('95.0 %');
    expect(await page.locator('.outlook .col-target').nth(3).textContent()).toBe('–');
  });

  it.skipIf(REAL)('shows packets of a held span and goes back to live', async () => {
    await open();
    await page.waitForTimeout(1200);
    const over = page.locator('.plot-occupancy .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    if (!box) throw new Error('the chart has no plot area');
    await page.mouse.move(box.x + box.width * 0.8, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.84, box.y + 80, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => page.locator('.hold-note').textContent()).toMatch(/Every dot is a packet at its arrival \(\d{3,}\)/);
    await page.getByRole('button', { name: 'Back to live' }).click();
    await expect.poll(() => page.locator('.recorder').getAttribute('data-held')).toBeNull();
  });

  it.skipIf(REAL)('says so when the telemetry goes stale', async () => {
    await open();
    await page.request.post(`${mock.url}mock/telemetry`, { data: { on: false } });
    await page.locator('.health[data-level="stale"]').waitFor({ timeout: 60_000 });
    expect(await page.locator('.health .state').textContent()).toContain('Stale');
    await page.request.post(`${mock.url}mock/telemetry`, { data: { on: true } });
    await page.locator('.health[data-level="live"]').waitFor({ timeout: 60_000 });
  });

  it.skipIf(REAL)('says so when the controller is gone, and recovers', async () => {
    await open();
    const port = mock.port;
    await mock.close();
    await page.locator('.health[data-level="lost"]').waitFor({ timeout: 60_000 });
    expect(await page.locator('.health .state').textContent()).toContain('Disconnected');
    // The last numbers stay, and are marked as old.
    expect(await page.locator('.recorder').getAttribute('data-stale')).toBe('');
    expect(await page.locator('.flow-table tbody tr').count()).toBe(16);
    mock = await startMock({ port, warmSeconds: 60 });
    await page.locator('.health[data-level="live"]').waitFor({ timeout: 60_000 });
    expect(problems).toEqual([]);
  });

  it('fits a phone, in dark, without sideways scrolling', async () => {
    await open({ width: 390, height: 844, dark: true });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
    expect(await page.locator('.advice').isVisible()).toBe(true);
  });

  it('does not move while it updates', async () => {
    await open();
    await page.waitForTimeout(3000);
    const places = () =>
      page.evaluate(() => ['.recorder', '.estimates', '.sizing', '.flows'].map((s) => Math.round(document.querySelector(s)?.getBoundingClientRect().top ?? -1)));
    const before = await places();
    await page.waitForTimeout(3500);
    expect(await places()).toEqual(before);
  });

  it.skipIf(REAL)('keeps a row, and the focus on it, through updates', async () => {
    await open();
    const tag = page.locator('.flow-table .class-tag').first();
    await tag.focus();
    await page.waitForTimeout(2500);
    expect(await tag.evaluate((e) => e === document.activeElement)).toBe(true);
    expect(await page.locator('.flow-table .tip').first().isVisible()).toBe(true);
  });
});
