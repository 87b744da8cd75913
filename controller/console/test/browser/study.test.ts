// SPDX-License-Identifier: Apache-2.0
// Uses of the page beyond a glance: doubts, held spans, single packets, chosen flows, files,
// addresses, many ports, touch.

import { readFile } from 'node:fs/promises';
import type { Browser, Download, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock } from '../../dev/mock-server.mjs';
import { launch } from './chromium';

let browser: Browser;
let mock: Mock;
let page: Page;

async function open(options: { width?: number; height?: number; dark?: boolean; hash?: string; touch?: boolean; many?: number; without?: string } = {}): Promise<void> {
  mock = await startMock({ warmSeconds: 60, manyLinks: options.many ?? 0 });
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    hasTouch: options.touch ?? false,
    acceptDownloads: true,
  });
  page = await context.newPage();
  if (options.without) await page.route(options.without, (r) => r.abort());
  await page.goto(`${mock.url}${options.hash ?? ''}`);
  await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
}

const post = (path: string, data: object) => page.request.post(`${mock.url}mock/${path}`, { data });

async function drag(from: number, to: number, y = 80): Promise<void> {
  const over = page.locator('.plot-occupancy .u-over');
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  if (!box) throw new Error('the chart has no plot area');
  await page.mouse.move(box.x + box.width * from, box.y + y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + y, { steps: 4 });
  await page.mouse.up();
}

const note = () => page.locator('.hold-note').textContent();

/** Returns a file's name and content. The page above moves with its figures, so a click may miss. */
async function saved(chart: string, kind: string): Promise<[string, Buffer]> {
  const menu = page.locator(`summary[aria-label="Save the chart: ${chart}"]`);
  const button = menu.locator('xpath=..').getByRole('button', { name: kind });
  for (let i = 0; i < 5; i += 1) {
    if (!(await button.isVisible())) {
      await menu.scrollIntoViewIfNeeded();
      await menu.click({ force: true });
    }
    const download = page.waitForEvent('download', { timeout: 10_000, predicate: (d: Download) => d.suggestedFilename().endsWith(kind.toLowerCase()) });
    const [file] = await Promise.all([download.catch(() => null), button.click({ timeout: 5_000 }).catch(() => null)]);
    if (file) return [file.suggestedFilename(), await readFile(await file.path())];
  }
  throw new Error(`${chart}: no ${kind}`);
}

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await page?.context().close();
  await mock?.close();
});

describe('the headline', () => {
  it('turns where reports are lost, numberings are shared, or limits differ, and back', async () => {
    await open();
    const state = page.locator('.health .state');
    await page.locator('.health[data-level="live"]').waitFor();
    await post('counters', { reports_lost: 500 });
    await expect.poll(() => state.textContent()).toMatch(/Losing reports500 reports \(\d/);
    expect(await page.locator('.health').getAttribute('data-level')).toBe('doubt');
    await post('counters', { reports_implausible_sequence: 900_000 });
    await expect.poll(() => state.textContent()).toContain('hw_id');
    await post('counters', { reports_lost: 0, reports_implausible_sequence: 0 });
    await page.locator('.health[data-level="live"]').waitFor({ timeout: 60_000 });
    await post('reported', { bytes: 200_000 });
    await expect.poll(() => state.textContent()).toContain('Reports state a limit of 200 kB, the switch was read as 313 kB');
  });
});

describe('a held span', () => {
  it('keeps its packets when the collector has forgotten them, at every zoom', async () => {
    await open();
    await page.waitForTimeout(1500);
    await drag(0.7, 0.76);
    await expect.poll(note).toMatch(/Every dot is a packet at its arrival \(\d{3,}\)/);
    await post('forget', { ms: 0 });
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(note).toMatch(/Every dot is a packet at its arrival \(\d{2,}\)/);
    // Packets that were never read are reported as gone.
    await page.getByRole('button', { name: 'Back to live' }).click();
    await drag(0.3, 0.34);
    await expect.poll(note).toContain('The collector remembers packets from');
  });

  it('keeps the packets of a long span for a closer look later', async () => {
    await open();
    await page.waitForTimeout(1500);
    // The window of 30 s, and the packets that a link of 100 Mb/s carries in it.
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    await expect.poll(note).toMatch(/^Held\. Choose 2\.5 s or less to see single packets\. Reading its packets, to keep them: \d/);
    await expect.poll(note, { timeout: 120_000 }).toMatch(/All of its packets are kept \(2[3-5]\d.\d{3}\)\.$/);
    expect(mock.requests.filter((r) => r.endsWith('/packets')).length).toBeGreaterThan(4);
    await post('forget', { ms: 0 });
    const whole = new URL(page.url()).hash;
    const asked = mock.requests.filter((r) => r.endsWith('/packets')).length;
    for (const [from, to] of [[0.01, 0.08], [0.5, 0.57], [0.92, 0.99]] as const) {
      await drag(from, to);
      await expect.poll(note).toMatch(/Every dot is a packet at its arrival \(1\d{4}\)/);
      await page.evaluate((hash) => {
        location.hash = hash;
      }, whole);
      await expect.poll(note).toMatch(/All of its packets are kept/);
    }
    expect(mock.requests.filter((r) => r.endsWith('/packets')).length).toBe(asked);
  });

  it('has a closest zoom and says so', async () => {
    await open();
    await page.waitForTimeout(1000);
    await drag(0.7, 0.72);
    const zoom = page.getByRole('button', { name: 'Zoom in' });
    for (let i = 0; i < 10; i += 1) await zoom.click();
    await expect.poll(note).toContain('This is the closest zoom, 1 ms.');
  });

  it('tells what a packet was, and what stood around it', async () => {
    await open();
    await page.waitForTimeout(1000);
    await drag(0.7, 0.72);
    await expect.poll(note).toMatch(/Every dot/);
    const over = page.locator('.plot-occupancy .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    if (!box) throw new Error('the chart has no plot area');
    const title = page.locator('.packet-title b');
    // Move across the picture until a packet is found.
    for (let y = 20; y < box.height && !/^\d/.test((await title.textContent()) ?? ''); y += 12) await page.mouse.move(box.x + box.width / 2, box.y + y);
    expect(await title.textContent()).toMatch(/^\d+\.\d{6} s, \d\d:\d\d:\d\d\.\d{3}/);
    const facts = page.locator('.packet-facts');
    expect(await facts.textContent()).toMatch(/Flow10\.0\.\d\.2:\d+ → .*Sequence.*cwnd\d+ pkts.*IP packet1500 B.*Met\d.*Waited/);
    const before = await title.textContent();
    await page.getByRole('button', { name: 'Packet after' }).click();
    expect(await title.textContent()).not.toBe(before);
  });
});

describe('flows', () => {
  it('are chosen for the charts by a click, filtered, and have a share', async () => {
    await open();
    const rows = page.locator('.flow-table tbody tr');
    await expect.poll(() => page.locator('.flow-key li').count()).toBe(3);
    await page.locator('.flow-table tbody tr:not([data-picked]) .flow-cell').first().click();
    await expect.poll(() => page.locator('.flow-key li').count()).toBe(4);
    expect(page.url()).toContain('flows=');
    await page.locator('tr[data-picked] .pick').first().click();
    await expect.poll(() => page.locator('.flow-key li').count()).toBe(3);
    await page.getByLabel('Filter').fill('wl');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.first().locator('td').nth(3).textContent()).toMatch(/^\d.*%$/);
    await page.getByLabel('Filter').fill('no such flow');
    await expect.poll(() => page.locator('.flows .empty').textContent()).toBe('No flow has these words.');
  });
});

describe('addresses', () => {
  it('lead to a port, a span and flows', async () => {
    await open({ hash: '#link=10:7&from=50.5&to=51.5&flows=1,2' });
    expect(await page.locator('#port').inputValue()).toBe('10:7');
    await expect.poll(note).toMatch(/Every dot is a packet/);
    expect(await page.locator('.recorder').getAttribute('data-held')).toBe('');
    await expect.poll(() => page.locator('.flow-key li').count()).toBe(2);
    await page.getByRole('button', { name: 'Back to live' }).click();
    await expect.poll(() => page.url()).not.toContain('from=');
    expect(page.url()).toContain('link=10:7');
  });
});

/** Reads an SVG picture in the browser: its texts, size and marks. */
async function readSvg(svg: Buffer) {
  return page.evaluate((source) => {
    const root = new DOMParser().parseFromString(source, 'image/svg+xml').documentElement;
    return {
      kind: root.nodeName,
      texts: Array.from(root.querySelectorAll('text'), (t) => t.textContent ?? ''),
      width: Number(root.getAttribute('width')),
      height: Number(root.getAttribute('height')),
      paths: root.querySelectorAll('path').length,
    };
  }, svg.toString());
}

/** Parses the rows of a CSV without commas in its cells, by column name. */
function table(csv: Buffer): Record<string, string>[] {
  const [head = [], ...rows] = csv.toString().trim().split('\n').map((l) => l.split(','));
  return rows.map((r) => Object.fromEntries(head.map((name, i) => [name, r[i] ?? ''])));
}

const api = async (path: string) => (await page.request.get(`${mock.url}api/v1/${path}`)).json();

describe('colours of flows', () => {
  it('are the same after a reload, in a held span and with other flows', async () => {
    await open({ hash: '#link=10:5&flows=2,5,11' });
    const colours = () => page.locator('.flow-key li').evaluateAll((all) => all.map((e) => [(e as HTMLElement).dataset.key, (e.firstElementChild as HTMLElement).dataset.flow].join()).sort());
    await expect.poll(async () => (await colours()).length).toBe(3);
    const before = await colours();
    expect(before).toEqual(['11,4', '2,3', '5,6']);
    await page.reload();
    await expect.poll(colours).toEqual(before);
    await page.evaluate(() => {
      location.hash = '#link=10:5&flows=11,5';
    });
    await expect.poll(colours).toEqual(before.filter((c) => !c.startsWith('2,')));
    // The address also has flows that nobody chose: a held span names them.
    await open({ hash: '#link=10:5&from=50.5&to=51.5' });
    await expect.poll(async () => (await colours()).length).toBe(3);
    await expect.poll(() => page.url()).toContain('flows=');
    const first = await colours();
    await page.reload();
    await expect.poll(colours).toEqual(first);
  });
});

describe('files', () => {
  /** For each chart: an axis label with its unit, a text of the legend, and the columns of its file. */
  const CHARTS: Record<string, [string, string, RegExp]> = {
    'Queue occupancy': ['occupancy, kB', 'to the 99th percentile', /^time_s,unix_ms,occupancy_max_bytes,occupancy_p99_bytes,occupancy_p50_bytes,limit_bytes$/],
    'Distribution of the occupancy': ['share of arrivals, %', 'p50 and p99', /^low_bytes,high_bytes,share$/],
    'Windows of flows': ['window, packets', 'in flight', /^time_s,flow_\d+_cwnd_pkts,flow_\d+_in_flight_bytes,flow_\d+_drops,flow_\d+_ce_marked/],
    'W against Q and BDP': ['bytes, kB', 'W: in flight', /^time_s,unix_ms,queue_plus_bdp_bytes,in_flight_bytes$/],
    Utilisation: ['utilisation, %', 'target', /^time_s,unix_ms,utilisation$/],
    Loss: ['loss, %', 'drops over arrivals', /^time_s,unix_ms,loss_rate$/],
    'Queueing delay': ['queueing delay, ms', 'largest', /^time_s,unix_ms,delay_max_ms,delay_p99_ms,delay_p50_ms$/],
    'N_b over time': ['flows bottlenecked here', 'estimate', /^time_s,unix_ms,n_b_high,n_b_low,n_b$/],
    'α over time': ['drops of a loss event per bottlenecked flow', 'its interval', /^time_s,unix_ms,alpha_high,alpha_low,alpha$/],
    'Δ over time': ['spread of the windows around BDP/n', 'estimate', /^time_s,unix_ms,delta_high,delta_low,delta$/],
    'T_e over time': ['effective RTT: harmonic mean of base RTTs, ms', 'estimate', /^time_s,unix_ms,t_e_ms_high,t_e_ms_low,t_e_ms$/],
    'C_e over time': ['share of capacity carried by bottlenecked flows, % of C', 'estimate', /^time_s,unix_ms,c_e_share_high,c_e_share_low,c_e_share$/],
    'Buffer by rule': ['buffer, kB', 'assumptions hold', /^id,name,buffer_bytes,assumptions,source,formula$/],
  };

  it('are there of every chart: the same picture as SVG and PNG, and its numbers with their units', async () => {
    await open();
    await page.waitForTimeout(2500);
    const names = await page.locator('.save > summary').evaluateAll((all) => all.map((e) => (e.getAttribute('aria-label') ?? '').replace('Save the chart: ', '')));
    expect(names.sort()).toEqual([...Object.keys(CHARTS), 'Expected over the limit'].sort());
    const stems = new Set<string>();
    for (const [name, [unit, sign, columns]] of Object.entries(CHARTS)) {
      const [csvName, csv] = await saved(name, 'CSV');
      expect(csvName).toMatch(/^tidemark-[a-z0-9-]+-10-\d\.csv$/);
      stems.add(csvName.replace(/\.csv$/, ''));
      const lines = csv.toString().trim().split('\n');
      expect(lines[0], name).toMatch(columns);
      expect(lines.length, name).toBeGreaterThan(2);
      expect(new Set(lines.map((l) => (l.startsWith('"') || name === 'Buffer by rule' ? 0 : l.split(',').length))).size, name).toBe(1);
      const [svgName, file] = await saved(name, 'SVG');
      expect(svgName).toBe(csvName.replace(/csv$/, 'svg'));
      expect(file.toString(), name).not.toContain('NaN');
      const svg = await readSvg(file);
      expect(svg.kind, name).toBe('svg');
      // Title, link, that it is live, and the date; units and legend.
      expect(svg.texts[0]).toBe(name.replace('_', ''));
      expect(svg.texts[1], name).toMatch(/node 10, port \d\), C 100 Mb\/s · live · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d.* UTC/);
      expect(svg.texts, name).toContain(unit);
      expect(svg.texts, name).toContain(sign);
      expect(svg.texts.filter((t) => /^-?\d+(\.\d+)?$/.test(t)).length, name).toBeGreaterThan(4);
      expect(svg.paths, name).toBeGreaterThan(3);
      const [, png] = await saved(name, 'PNG');
      expect([...png.subarray(1, 4)], name).toEqual([0x50, 0x4e, 0x47]);
      expect([png.readUInt32BE(16), png.readUInt32BE(20)], name).toEqual([2 * svg.width, 2 * svg.height]);
      expect(png.length, name).toBeGreaterThan(20_000);
    }
    expect(stems.size).toBe(names.length - 1);
    expect([...stems].filter((s) => /alpha|delta/.test(s)).length).toBe(2);
  });

  it('hold the values of the API in the units that their columns name', async () => {
    await open();
    await page.waitForTimeout(2500);
    const [, csv] = await saved('Expected over the limit', 'CSV');
    const rows = table(csv);
    const { verdict } = await api('verdict?node=10&port=5');
    expect(Number(rows[0]?.limit_bytes)).toBeCloseTo(verdict.curve[0].buffer_bytes, 3);
    expect(Number(rows[0]?.utilisation)).toBeCloseTo(verdict.curve[0].predicted.utilisation.value, 9);
    // In whatever unit the page shows sizes.
    await page.getByRole('button', { name: 'packets', exact: true }).click();
    const [, again] = await saved('Expected over the limit', 'CSV');
    expect(table(again)[0]?.limit_bytes).toBe(rows[0]?.limit_bytes);
    expect(Object.keys(rows[0] ?? {}).join()).toMatch(/^limit_bytes,utilisation,utilisation_low,/);
    const [, sums] = await saved('W against Q and BDP', 'CSV');
    const known = table(sums).find((r) => r.in_flight_bytes !== '');
    const from = Math.round(Number(known?.time_s) * 1e9);
    const windows = await api(`links/10/5/windows?from_ns=${from}&to_ns=${from + 1e8}&max_points=1`);
    expect(Number(known?.in_flight_bytes)).toBe(windows.in_flight_sum_bytes[0]);
  });

  it('of the verdict are the controller’s picture for paper', async () => {
    await open();
    const [name, svg] = await saved('Expected over the limit', 'SVG');
    expect(name).toMatch(/^tidemark-[a-z0-9-]+-10-5\.svg$/);
    expect(svg.toString()).toBe(await (await page.request.get(`${mock.url}api/v1/verdict?node=10&port=5&format=svg`)).text());
    const [, png] = await saved('Expected over the limit', 'PNG');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([2400, 1200]);
    expect(png.length).toBeGreaterThan(20_000);
  });

  it('are not made of nothing', async () => {
    await open({ without: '**/series?*' });
    const box = page.locator('.chart-box', { has: page.locator('summary[aria-label="Save the chart: Queue occupancy"]') });
    for (const kind of ['CSV', 'SVG', 'PNG']) {
      const button = box.getByRole('button', { name: kind });
      await expect
        .poll(async () => {
          // The page above moves as its figures change, so that a click may miss.
          if (!(await button.isVisible())) await box.locator('summary').click({ force: true });
          await button.click({ timeout: 1000 }).catch(() => {});
          return box.getByRole('alert').textContent({ timeout: 1000 }).catch(() => '');
        })
        .toBe(`${kind} not saved: nothing was measured in the span shown, or it is still being read`);
    }
  });
});

describe('windows of flows', () => {
  it('show what is in flight as a dotted line, and say so', async () => {
    await open();
    await page.waitForTimeout(1500);
    expect(await page.locator('.reading-cwnd .line-key:visible').textContent()).toBe('cwndin flight');
    expect(await page.locator('.reading-sum .line-key').textContent()).toBe('W: in flightQ + BDP');
    const [, svg] = await saved('Windows of flows', 'SVG');
    // Three, and one in the legend.
    const dotted = svg.toString().match(/<path [^>]*stroke-dasharray="1\.5 3"[^>]*>/g) ?? [];
    expect(dotted.length).toBe(4);
    const [, csv] = await saved('Windows of flows', 'CSV');
    const [head, ...rows] = csv.toString().trim().split('\n').map((l) => l.split(','));
    const at = (name: RegExp) => head?.findIndex((h) => name.test(h)) ?? -1;
    const [cwnd, inFlight] = [at(/cwnd_pkts$/), at(/in_flight_bytes$/)];
    expect(rows.length).toBeGreaterThan(100);
    for (const r of rows) expect(Number(r[inFlight])).toBe((Number(r[cwnd]) - 1) * 1514);
  });

  it('are those of every packet where packets are shown', async () => {
    await open();
    await page.waitForTimeout(1000);
    const answers: Promise<{ ingress_ns: number[]; flow_id: number[]; cwnd: number[] }>[] = [];
    page.on('response', (r) => {
      if (r.url().includes('/packets?')) answers.push(r.json());
    });
    await drag(0.7, 0.72);
    await expect.poll(note).toMatch(/Every dot/);
    expect(await page.locator('.reading-cwnd .line-key:visible').textContent()).toBe('cwnd of each packet');
    const chosen = new Set(await page.locator('.flow-key li').evaluateAll((all) => all.map((e) => (e as HTMLElement).dataset.key)));
    const [, csv] = await saved('Windows of flows', 'CSV');
    const rows = table(csv);
    // The stand-in makes up other packets each time, and the page joins the answers that it has.
    const micros = (seconds: number): number => Math.round(seconds * 1e6);
    const said = new Set((await Promise.all(answers)).flatMap((p) => p.flow_id.map((f, i) => `${micros((p.ingress_ns[i] ?? 0) / 1e9)} ${f} ${p.cwnd[i]}`)));
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((r) => !chosen.has(String(r.flow_id)))).toEqual([]);
    expect(rows.map((r) => `${micros(Number(r.arrival_s))} ${r.flow_id} ${r.cwnd_pkts}`).filter((r) => !said.has(r))).toEqual([]);
    const [, svg] = await saved('Windows of flows', 'SVG');
    expect((await readSvg(svg)).texts).toContain('cwnd that a packet left under');
  });
});

describe('a file that cannot be made', () => {
  it('is told where it was asked for', async () => {
    await open();
    await page.evaluate(() => {
      HTMLCanvasElement.prototype.toBlob = (done) => done(null);
    });
    const box = page.locator('.save').first();
    await expect
      .poll(async () => {
        const png = box.getByRole('button', { name: 'PNG' });
        if (!(await png.isVisible())) await box.locator('summary').click({ force: true });
        await png.click({ timeout: 1000 }).catch(() => {});
        return box.getByRole('alert').textContent();
      })
      .toBe('PNG not saved: the browser cannot make a PNG of it');
  });
});

describe('many ports', () => {
  it('are sorted by what needs attention, with answer, limit over advised, and queue', async () => {
    await open({ many: 46 });
    const rows = page.locator('.overview-table tbody tr');
    await expect.poll(() => rows.count()).toBe(48);
    // Of 46: a quarter fine (half of them not judged), half too big, a quarter too small; both of the demo are too big.
    expect(await page.locator('.overview .when').textContent()).toBe('48 ports: 11 too small or missing a target, 25 too big, 6 not judged, 6 fine');
    const cells = await rows.evaluateAll((all) => all.map((tr) => [tr.children[1]?.textContent, tr.children[2]?.textContent] as const));
    const order = ['too small', 'too big', 'cannot say', 'fine'];
    const places = cells.map(([answer]) => order.indexOf(answer ?? ''));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(new Set(places).size).toBe(4);
    const big = cells.filter(([answer]) => answer === 'too big').map(([, limit]) => limit);
    // Small differences do not change the order of nodes and ports.
    expect(big.slice(0, 2)).toEqual(['313 kB / 158 kB2.0 ×', '320 kB / 158 kB2.0 ×']);
    expect(big.at(-1)).toBe('200 kB / 158 kB1.3 ×');
    // The queue of the last minutes is there at once: a point every other second of the past 60 s.
    await expect.poll(() => rows.evaluateAll((all) => all.filter((tr) => (tr.querySelector('.trail g path')?.getAttribute('d') ?? '').split('L').length > 20).length)).toBe(48);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  });

  it('are searched, and told in brief', async () => {
    await open({ many: 62 });
    await expect.poll(() => page.locator('.overview-table tbody tr').count()).toBe(50);
    expect(await page.locator('.overview .when').textContent()).toMatch(/^64 ports/);
    await page.getByLabel('Search').fill('leaf 61');
    await expect.poll(() => page.locator('.overview-table tbody tr').count()).toBe(1);
    await page.locator('.overview-table button').click();
    await expect.poll(() => page.locator('.port-choice select').inputValue()).toBe('23:13');
    await page.locator('.flow-table tbody tr').first().waitFor();
    expect(page.url()).toContain('link=23:13');
  });
});

describe('every width', () => {
  it.each([1440, 1024, 390])('has one time axis and nothing clipped at %i px', async (width) => {
    await open({ width });
    await page.waitForTimeout(1500);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    const plots = await page.locator('.channels .u-over').evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).map((b) => [Math.round(b.left), Math.round(b.right)].join('-')));
    expect(plots.length).toBe(6);
    expect(new Set(plots).size).toBe(1);
    // Every column of the table of expected outcomes is in view.
    const clipped = await page.locator('.outlook').evaluate((t) => t.scrollWidth > (t.parentElement?.clientWidth ?? 0) + 1);
    expect(clipped).toBe(false);
  });

  it('selects a span by touch', async () => {
    await open({ width: 390, height: 844, touch: true });
    await page.waitForTimeout(1500);
    const over = page.locator('.plot-occupancy .u-over');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    if (!box) throw new Error('the chart has no plot area');
    const client = await page.context().newCDPSession(page);
    const touch = (type: string, x: number) => client.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + x, y: box.y + 100 }] });
    await touch('touchStart', box.width * 0.5);
    for (let k = 1; k <= 6; k += 1) await touch('touchMove', box.width * (0.5 + 0.05 * k));
    await touch('touchEnd', 0);
    await expect.poll(() => page.locator('.recorder').getAttribute('data-held')).toBe('');
  });
});

describe('documentation', () => {
  it('is served with the page, and terms are explained where they stand', async () => {
    await open();
    const [help] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Help: What this page shows' }).click()]);
    await help.waitForLoadState();
    expect(await help.locator('h1').textContent()).toBe('The console');
    expect(await help.locator('a[href="api.html"]').count()).toBeGreaterThan(0);
    const terms = await page.locator('a.term[title]').evaluateAll((all) => all.map((e) => e.textContent));
    for (const t of ['LBP', 'RBP', 'WL', 'cwnd', 'BDP', 'Nb', 'α', 'Δ', 'Te', 'Ce']) expect(terms).toContain(t);
    // Formulas are typeset.
    await page.locator('.rule summary').first().waitFor();
    for (const f of await page.locator('.rule-formula').allTextContents()) expect(f).not.toMatch(/\*|sqrt|delta|rho/);
  });
});
