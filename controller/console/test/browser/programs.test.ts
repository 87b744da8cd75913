// SPDX-License-Identifier: Apache-2.0
// The page of the real controller: it shows what the API says, what it applies is in the switch,
// and it says so when the controller is gone.

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Flow, Link, Series } from '../../src/api/generated';
import { bitRate, bytes, count, milliseconds, MISSING, percent, significant } from '../../src/format/units';
import { launch } from './chromium';
import { missingPrograms, NODE, PORT, type Programs, startPrograms } from './programs';

const missing = missingPrograms();
if (missing.length > 0) console.warn(`NOT TESTED against the real programs: ${missing.join(', ')} not built (make build)`);

let browser: Browser;
let page: Page;
let programs: Programs;
const problems: string[] = [];

const limitBytes = (l: Link): number | undefined => (l.limit && 'limit_bytes' in l.limit ? (l.limit.limit_bytes ?? undefined) : undefined);
const link = async (): Promise<Link> => (await programs.get(`links/${NODE}/${PORT}`)) as Link;

describe.skipIf(missing.length > 0)('the page of a running controller', () => {
  beforeAll(async () => {
    [browser, programs] = [await launch(), await startPrograms()];
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    page.on('pageerror', (e) => problems.push(e.message));
    // The page shows that a controller is gone or refuses; refusals by its policy appear only here.
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

  /** Ends a held span; the button may move while it is pressed. */
  async function live(): Promise<void> {
    const back = page.getByRole('button', { name: 'Back to live' });
    await expect
      .poll(async () => {
        if (await back.isVisible()) await back.click({ timeout: 5000 }).catch(() => {});
        return back.isVisible();
      })
      .toBe(false);
  }

  /** Compares the page with the API, repeatedly, until both show the same second. */
  async function same(shown: () => Promise<unknown>, said: (l: Link) => unknown): Promise<void> {
    await expect.poll(async () => {
      const before = said(await link());
      const now = await shown();
      const after = said(await link());
      return now === before || now === after ? 'the same' : `page ${String(now)}, API ${String(before)}`;
    }).toBe('the same');
  }

  it('shows the estimates, flows and limit that the API says', async () => {
    const tile = (i: number) => page.locator('.estimate').nth(i).locator('.value').textContent();
    type Estimates = NonNullable<Link['estimate']>['estimates'];
    const shown = (e: { value: number } | null | undefined, f: (v: number) => string): string => (e ? f(e.value) : MISSING);
    const tiles: ((e: Estimates) => string)[] = [
      (e) => shown(e.n_b, (v) => (Math.abs(v - Math.round(v)) < 0.005 ? String(Math.round(v)) : v.toFixed(1))),
      (e) => shown(e.alpha, (v) => significant(v, 2)),
      (e) => shown(e.delta, (v) => significant(v, 3)),
      (e) => shown(e.t_e_ms, (v) => `${significant(v, 3)}`),
      (e) => shown(e.c_e_share, (v) => percent(v).replace(' %', '')),
    ];
    for (const [i, of] of tiles.entries()) await same(() => tile(i), (l) => l.estimate && of(l.estimate.estimates));
    await same(() => page.locator('.readings .key-limit dd').textContent(), (l) => bytes(l.reported_limit_bytes));
    await same(() => page.locator('.class-counts').textContent().then((t) => Number.parseInt(t ?? '', 10)), (l) => l.estimate?.classes.lbp);
    const { advice } = (await programs.get(`advice?node=${NODE}&port=${PORT}`)) as { advice: { rules: unknown[] } };
    await expect.poll(() => page.locator('.rules-list .rule').count()).toBe(advice.rules.length);
    const counters = ((await programs.get('status')) as { collectors: { status: { reports_received: number } }[] }).collectors[0]?.status.reports_received ?? 0;
    await expect.poll(async () => Number((await page.locator('.counters dd').first().textContent())?.replace(/\D/g, ''))).toBeGreaterThanOrEqual(counters);
  });

  it('shows the advice, with what was measured, that the API says', async () => {
    await same(() => page.locator('.advised-size').textContent(), (l) => bytes(l.advice?.limit_bytes));
    const measured = (i: number) => page.locator('.outlook tbody tr').nth(i).locator('.col-measured span').textContent();
    await same(() => measured(0), (l) => percent(l.advice?.present?.measured?.utilisation));
    await same(() => measured(1), (l) => percent(l.advice?.present?.measured?.loss_rate));
    await same(() => measured(2), (l) => milliseconds(l.advice?.present?.measured?.delay_max_ms));
  });

  it('shows the utilisation, loss and delay of the series', async () => {
    const asked = async (from: number, to: number): Promise<Series> =>
      (await programs.get(`links/${NODE}/${PORT}/series?from_ns=${from}&to_ns=${to}&max_points=2000`)) as Series;
    /** Returns the readings over a whole span, from the API's answer to the page's own request. */
    const said = async (from: number, to: number): Promise<string> => {
      const s = await asked(from, to);
      const inside = s.time_ns.map((t) => t >= from && t < to);
      const known = (v: (number | null)[]): number[] => v.filter((x, i): x is number => x !== null && inside[i] === true);
      const sum = (v: number[]): number => v.reduce((a, b) => a + b, 0);
      const mean = (v: number[]): number => sum(v) / v.length;
      return [percent(mean(known(s.utilisation))), percent(sum(known(s.drops)) / sum(known(s.arrivals))), milliseconds(mean(known(s.delay_p99_ms)))].join();
    };
    const shown = (): Promise<string> =>
      page.evaluate(() => ['.reading-utilisation b', '.reading-loss b', '.reading-delay b'].map((s) => document.querySelector(s)?.textContent ?? '').join());
    // Repeated if the recording started again meanwhile, and the page with it.
    await expect
      .poll(async () => {
        const recent = (await programs.get(`links/${NODE}/${PORT}/series?last_s=20&max_points=200`)) as Series;
        const newest = recent.time_ns.findLast((_, i) => recent.utilisation[i] !== null);
        // Some seconds old, so that the held span is complete.
        const [from, to] = [(newest ?? 0) - 5e9, (newest ?? 0) - 2e9].map((ns) => Math.round(ns / 1e3) * 1e3);
        if (newest === undefined || from === undefined || to === undefined || from < (recent.time_ns[0] ?? 0)) return 'no span of 3 s yet';
        await page.evaluate((span) => {
          const q = new URLSearchParams(location.hash.slice(1));
          for (const [name, ns] of Object.entries(span)) q.set(name, (ns / 1e9).toFixed(6));
          location.hash = decodeURIComponent(q.toString());
        }, { from, to });
        // With the pointer over it, a chart shows one interval.
        await page.mouse.move(2, 2);
        const end = Date.now() + 15_000;
        for (;;) {
          const [now, wanted] = [await shown(), await said(from, to)];
          if (now === wanted) return 'the same';
          if (Date.now() > end) {
            await live();
            return `page ${now}, API ${wanted}`;
          }
          await page.waitForTimeout(300);
        }
      }, { timeout: 220_000, interval: 1000 })
      .toBe('the same');
    await page.getByRole('button', { name: 'Back to live' }).waitFor();
    await live();
  });

  it('shows of every flow what the API says', async () => {
    const cells = (f: Flow): string => [bitRate(f.rate_bps), f.cwnd === null ? MISSING : count(f.cwnd), milliseconds(f.srtt_ms), milliseconds(f.base_rtt_ms), count(f.drops)].join('|');
    const words = (rows: [string, string][]): string => rows.map((r) => r.join(' ')).join('\n');
    const table = (): Promise<[string, string][]> =>
      page.locator('.flow-table tbody tr').evaluateAll((all) =>
        all.map((tr): [string, string] => [(tr as HTMLElement).dataset.key ?? '', [2, 4, 5, 6, 7].map((i) => tr.children[i]?.textContent ?? '').join('|')]),
      );
    await expect.poll(() => page.locator('.flow-table tbody tr').count()).toBeGreaterThan(10);
    let order: string[] = [];
    await same(
      async () => {
        const rows = await table();
        order = rows.map(([id]) => id);
        return words(rows);
      },
      (l) => words(order.map((id) => [id, l.estimate?.flows.filter((f) => String(f.flow) === id).map(cells).join() ?? ''])),
    );
  });

  it('draws windows and W(t) from the senders’ samples', async () => {
    await expect.poll(() => page.locator('.reading-cwnd b').textContent()).toBe('3 of 3');
    await expect.poll(() => page.locator('.reading-sum b').textContent()).toMatch(/^\d.*B; \d.*B$/);
    await expect.poll(() => page.locator('.reading-sum small', { hasText: 'probed' }).textContent()).toMatch(/^\d+ of \d+ flows probed; BDP \d/);
  });

  it('shows single packets with their flow and sequence, and keeps what is held', async () => {
    await page.getByRole('button', { name: '10 s', exact: true }).click();
    const over = page.locator('.plot-occupancy .u-over');
    // Soon: without a packet there are no facts, and the poll must start again.
    const fact = (name: string) =>
      page.locator('.packet-facts div', { hasText: name }).first().locator('dd').textContent({ timeout: 1000 }).catch(() => 'none');
    // Repeated if the recording starts again: nothing has arrived yet, or the held span is gone.
    await expect
      .poll(
        async () => {
          await live();
          // Panels above it may have grown since, and have moved it out of the window.
          await over.evaluate((e) => e.scrollIntoView({ block: 'center' }));
          const box = await over.boundingBox();
          if (!box) return 'no plot';
          await page.mouse.move(box.x + box.width * 0.5, box.y + 80);
          await page.mouse.down();
          await page.mouse.move(box.x + box.width * 0.58, box.y + 80, { steps: 4 });
          await page.mouse.up();
          await page.waitForTimeout(1500);
          const note = await page.locator('.hold-note').textContent();
          await page.getByRole('button', { name: 'Packet after' }).click({ timeout: 2000 }).catch(() => {});
          return [note, await fact('Flow'), await fact('Sequence'), page.url()].join(' | ');
        },
        { timeout: 90_000, interval: 500 },
      )
      .toMatch(/Every dot is a packet at its arrival \(\d{2,}\).* \| [\d.:]+ → .* \| \d+ \| .*link=10:1.*&from=[\d.]+&to=[\d.]+/);
    await live();
  });

  it('applies the advice to the switch, and says that reports state another limit', async () => {
    const apply = page.getByRole('button', { name: 'Apply to switch' });
    await expect.poll(() => apply.isEnabled(), { timeout: 90_000 }).toBe(true);
    const dialog = page.locator('dialog.confirm');
    // The advice changes while the page is live: the button may move, or be disabled for a moment,
    // while it is pressed.
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
    expect(said).toContain(String(limitBytes(await link())));
    await expect.poll(() => page.locator('.audit-table tbody tr').count()).toBeGreaterThan(0);
    // The recording does not follow the switch; the advice may be the limit of the recording.
    await expect
      .poll(
        async () => {
          const l = await link();
          const [set, reported] = [limitBytes(l) ?? 0, l.reported_limit_bytes ?? 0];
          const differ = Math.abs(set - reported) > Math.max(l.depth_unit_bytes, 0.005 * reported);
          const said = (await page.locator('.health .state').textContent())?.includes('Limits differ');
          return reported > 0 && said === differ ? 'the same' : `page ${String(said)}, switch ${set}, reports ${reported}`;
        },
        { timeout: 60_000, interval: 1000 },
      )
      .toBe('the same');
  });

  it('keeps the history of the estimates over a reload', async () => {
    const known = async (): Promise<number> => ((await programs.get(`links/${NODE}/${PORT}/estimates`)) as { time_ns: number[] }).time_ns.length;
    const saved = async (): Promise<number> => {
      const menu = page.locator('summary[aria-label="Save the chart: N_b over time"]');
      await menu.click({ force: true });
      const [file] = await Promise.all([page.waitForEvent('download'), menu.locator('xpath=..').getByRole('button', { name: 'CSV' }).click()]);
      return readFileSync(await file.path(), 'utf8').trim().split('\n').length - 1;
    };
    // Repeated if the recording, and the history with it, started again meanwhile.
    await expect
      .poll(
        async () => {
          const before = await known();
          if (before <= 10) return `only ${before} estimates so far`;
          await page.reload();
          await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
          // The line is complete at once, and does not start now.
          await page.waitForTimeout(1500);
          const rows = await saved();
          return rows > before / 2 ? 'all there' : `${rows} of ${before} estimates`;
        },
        { timeout: 150_000, interval: 1000 },
      )
      .toBe('all there');
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
