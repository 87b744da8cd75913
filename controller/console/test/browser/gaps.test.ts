// SPDX-License-Identifier: Apache-2.0
// A silence of the switch is a hole in the charts, and not a zero in the readings, which cover the
// span shown, or the interval under the pointer.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock } from '../../dev/mock-server.mjs';
import { launch } from './chromium';

let browser: Browser;
let mock: Mock;
let page: Page;

/** Counts the pixels drawn over the paper in a part of a chart's plot, in shares of its width. */
async function drawn(chart: string, from: number, to: number): Promise<number> {
  return page.locator(chart).evaluate(
    (node, [a, b]) => {
      const canvas = node.querySelector('canvas');
      const plot = node.querySelector('.u-over')?.getBoundingClientRect();
      const box = canvas?.getBoundingClientRect();
      const g = canvas?.getContext('2d');
      if (!canvas || !plot || !box || !g) return -1;
      const r = canvas.width / box.width;
      const x = (share: number): number => Math.round((plot.left - box.left + plot.width * share) * r);
      const { data } = g.getImageData(x(a), 0, x(b) - x(a), Math.round((plot.bottom - box.top) * r));
      // Lines of the grid are faint; traces are in colour.
      let n = 0;
      for (let i = 0; i < data.length; i += 4) {
        const [red = 0, green = 0, blue = 0, alpha = 0] = data.slice(i, i + 4);
        if (alpha > 60 && Math.max(red, green, blue) - Math.min(red, green, blue) > 30) n += 1;
      }
      return n;
    },
    [from, to] as const,
  );
}

const text = (selector: string) => page.locator(selector).innerText();

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await page?.context().close();
  await mock?.close();
});

describe('a silence of the switch', () => {
  it('is a hole in every chart, and no zero in the readings', async () => {
    mock = await startMock({ warmSeconds: 60 });
    const [link] = mock.links;
    if (!link) throw new Error('no link');
    link.silences = [[40_000, 46_000]];
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    // The span from 30 to 60 s: the hole is from a third to 53 % of it.
    await page.goto(`${mock.url}#link=10:5&from=30&to=60`);
    await expect.poll(() => page.locator('.hold-note').textContent(), { timeout: 60_000 }).toMatch(/^Held/);
    const charts = page.locator('.recorder .chart-box .plot');
    await expect.poll(() => drawn('.plot-occupancy', 0.1, 0.3)).toBeGreaterThan(500);
    // Occupancy, utilisation, loss, delay.
    for (const k of [0, 3, 4, 5]) {
      const name = `chart-under-test-${k}`;
      await charts.nth(k).evaluate((e, id) => e.setAttribute('data-test', id), name);
      const chart = `[data-test="${name}"]`;
      expect(await drawn(chart, 0.05, 0.3), `${k} before`).toBeGreaterThan(20);
      expect(await drawn(chart, 0.6, 0.95), `${k} after`).toBeGreaterThan(20);
    }
    expect(await drawn('.plot-occupancy', 0.36, 0.51)).toBe(0);
    // The mean covers only what was measured: six seconds of zeros would lower it to 80 %.
    const percent = async (selector: string): Promise<number> => Number.parseFloat(await text(selector));
    expect(await percent('.reading-utilisation b')).toBeGreaterThan(95);
    expect(await text('.reading-utilisation small')).toMatch(/^worst [\d.]+ %$/);
    expect(Number.parseFloat((await text('.reading-utilisation small')).replace('worst ', ''))).toBeGreaterThan(30);
    // Under the pointer: that interval.
    const plot = page.locator('.plot-occupancy .u-over');
    await plot.scrollIntoViewIfNeeded();
    const over = await plot.boundingBox();
    if (!over) throw new Error('no plot');
    await page.mouse.move(over.x + over.width * 0.43, over.y + 50);
    await expect.poll(() => text('.reading-utilisation b')).toBe('–');
    for (const s of ['.key-p50 dd', '.key-p99 dd', '.key-max dd', '.key-limit dd', '.key-drops dd', '.reading-loss b', '.reading-delay b']) expect(await text(s), s).toBe('–');
    await page.mouse.move(over.x + over.width * 0.8, over.y + 50);
    await expect.poll(() => text('.key-p50 dd')).toMatch(/^\d/);
    expect(await text('.recorder .when')).toMatch(/^5[34]\.\d+ s, /);
  });
});

describe('readings', () => {
  it('are of the span shown: mean and worst, and all drops', async () => {
    mock = await startMock({ warmSeconds: 60 });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    await page.goto(`${mock.url}#link=10:5&from=30&to=60`);
    await expect.poll(() => page.locator('.hold-note').textContent(), { timeout: 60_000 }).toMatch(/^Held/);
    // Compared with the answers themselves.
    const s = await (await page.request.get(`${mock.url}api/v1/links/10/5/series?from_ns=30000000000&to_ns=60000000000&max_points=2000`)).json();
    const sum = (v: number[]): number => v.reduce((a, b) => a + b, 0);
    await expect.poll(() => text('.key-drops dd').then((t) => Number(t.replace(/\D/g, '')))).toBe(sum(s.drops));
    const loss = (100 * sum(s.drops)) / sum(s.arrivals);
    expect(Number.parseFloat(await text('.reading-loss b'))).toBeCloseTo(loss, 1);
    const worst = 100 * Math.max(...s.drops.map((d: number, i: number) => (s.arrivals[i] ? d / s.arrivals[i] : 0)));
    expect(Number.parseFloat((await text('.reading-loss small')).replace('worst ', ''))).toBeCloseTo(worst, 0);
    expect(await text('.recorder .when')).toBe('mean over 30.0 s');
  });
});
