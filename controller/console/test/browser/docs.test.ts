// SPDX-License-Identifier: Apache-2.0
// The documentation that the console serves: side bar, search, pictures, symbols, both themes and
// widths, by keyboard, under the controller's policy.

import { readdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock } from '../../dev/mock-server.mjs';
import { violations } from './axe';
import { launch } from './chromium';

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
const PAGES = readdirSync(new URL('../../dist/docs/', import.meta.url), { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.html'));

let browser: Browser;
let mock: Mock;
let page: Page;
let problems: string[];

async function open(path: string, viewport = WIDE, colorScheme: 'light' | 'dark' = 'light'): Promise<void> {
  const context = await browser.newContext({ viewport, colorScheme });
  page = await context.newPage();
  problems = [];
  // Refusals by the policy are reported here as well.
  page.on('console', (m) => m.type() === 'error' && problems.push(m.text()));
  page.on('pageerror', (e) => problems.push(e.message));
  await page.goto(`${mock.url}${path}`);
}

const widths = () => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);

beforeAll(async () => {
  browser = await launch();
  mock = await startMock({ warmSeconds: 60 });
});
afterAll(async () => {
  await browser?.close();
  await mock?.close();
});
afterEach(async () => {
  await page?.context().close();
});

// Colours do not depend on the width, nor scrolling on the colours.
describe.each([
  [WIDE, 'light'],
  [PHONE, 'dark'],
] as const)('every page, %o, %s', (viewport, scheme) => {
  it('has no violation, no problem, and is no wider than the screen', { timeout: 600_000 }, async () => {
    expect(PAGES.length).toBeGreaterThan(60);
    await open('docs/README.html', viewport, scheme);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe(scheme);
    const found: string[] = [];
    for (const path of PAGES) {
      await page.goto(`${mock.url}docs/${path}`);
      found.push(...(await violations(page)).map((v) => `${path}: ${v}`));
      const [wide = 0, screen = 0] = await widths();
      if (wide > screen) found.push(`${path}: ${wide} px on ${screen}`);
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  });
});

describe('a page', () => {
  it('shows its pictures', async () => {
    await open('docs/papers/utb.html');
    const pictures = page.locator('main img');
    expect(await pictures.count()).toBeGreaterThan(8);
    await pictures.last().scrollIntoViewIfNeeded();
    await expect.poll(() => pictures.last().evaluate((e: HTMLImageElement) => e.complete && e.naturalWidth > 100)).toBe(true);
    // Text does not move when they load.
    expect(await pictures.last().evaluate((e: HTMLImageElement) => Math.abs(e.width / e.height - e.naturalWidth / e.naturalHeight) < 0.05)).toBe(true);
    expect(problems).toEqual([]);
  });

  it('is found in the side bar, which leads to the others', async () => {
    await open('docs/explanation/security.html');
    const bar = page.getByRole('navigation', { name: 'Pages' });
    const here = bar.locator('[aria-current]');
    expect(await here.textContent()).toBe('Security');
    await expect.poll(() => here.evaluate((e) => e.getBoundingClientRect().top < innerHeight && e.getBoundingClientRect().top > 0)).toBe(true);
    await bar.getByRole('link', { name: 'Glossary', exact: true }).click();
    await page.locator('h1', { hasText: 'Glossary' }).waitFor();
  });

  it('has its side bar behind a button on a phone', async () => {
    await open('docs/reference/rules.html', PHONE);
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Metrics' });
    expect(await link.isVisible()).toBe(false);
    await page.locator('.pages > summary').click();
    await link.click();
    await page.locator('h1', { hasText: 'Metrics' }).waitFor();
  });

  it('leads from a symbol to its line of the glossary', async () => {
    await open('docs/explanation/estimators.html');
    await page.locator('main a.term', { hasText: 'LBP' }).first().click();
    await page.locator('h1', { hasText: 'Glossary' }).waitFor();
    const line = page.locator('td:target');
    expect(await line.textContent()).toBe('LBP');
    // Not hidden by the bar at the top.
    const [below, top] = [await page.locator('header').boundingBox(), await line.boundingBox()];
    expect(top?.y).toBeGreaterThan((below?.y ?? 0) + (below?.height ?? 0) - 1);
  });

  it('follows the theme that was chosen on the console', async () => {
    await open('docs/README.html', WIDE, 'light');
    await page.getByRole('button', { name: 'Use the dark theme' }).click();
    await page.goto(mock.url);
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
    await page.goto(`${mock.url}docs/reference/rules.html`);
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });
});

describe('the search', () => {
  it('finds a section by the keyboard alone', async () => {
    await open('docs/README.html');
    await page.keyboard.press('/');
    await page.keyboard.type('roll-back changed limit');
    await page.locator('.found a').first().waitFor();
    expect(await violations(page), 'results').toEqual([]);
    const href = await page.locator('.found a').nth(1).getAttribute('href');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => decodeURIComponent(page.url())).toContain(decodeURIComponent((href ?? '').replace(/^(\.\.\/)+/, '')));
    expect(problems).toEqual([]);
  });

  it('leads to the glossary for a symbol, on a phone and without the network', async () => {
    await open('docs/how-to/grafana.html', PHONE, 'dark');
    await page.locator('#search').click();
    await expect.poll(() => page.evaluate(() => performance.getEntriesByType('resource').some((r) => r.name.endsWith('search.json')))).toBe(true);
    await page.context().setOffline(true);
    await page.keyboard.type('T_e');
    await expect.poll(() => page.locator('.found b').first().textContent()).toBe('T_e · Glossary');
    const panel = await page.locator('.found').boundingBox();
    expect(panel?.x).toBeGreaterThanOrEqual(0);
    expect((panel?.x ?? 0) + (panel?.width ?? 0)).toBeLessThanOrEqual(PHONE.width);
    expect(await violations(page), 'results').toEqual([]);
    await page.keyboard.press('Escape');
    expect(await page.locator('.found').isVisible()).toBe(false);
    await page.context().setOffline(false);
    await page.keyboard.press('Enter');
    await page.locator('td:target', { hasText: 'T' }).waitFor();
  });

  it('says that nothing has the words, and what to do where it cannot be loaded', async () => {
    await open('docs/README.html');
    await page.locator('#search').fill('zzzzqqqq');
    await expect.poll(() => page.locator('.found [role=status]').textContent()).toBe('Nothing has these words.');
    await open('docs/README.html');
    await page.route('**/search.json', (r) => r.abort());
    await page.locator('#search').fill('limit');
    await expect.poll(() => page.locator('.found [role=status]').textContent()).toContain('is the controller running?');
  });
});

describe('the console', () => {
  it('keeps the focus of a symbol while the numbers next to it change', async () => {
    await open('');
    const { links } = (await (await page.request.get(`${mock.url}api/v1/links`)).json()) as { links: [{ estimate: { estimates: object } }] };
    const { estimate } = links[0];
    const why = (n: number) => {
      const regime = { value: 'elastic', evidence: 'probed', why: `N_b = ${n} of ${n + 1} flows` };
      return page.request.post(`${mock.url}mock/say`, { data: { link: { estimate: { ...estimate, estimates: { ...estimate.estimates, regime } } } } });
    };
    const line = page.locator('.regime > span');
    await why(4);
    await expect.poll(() => line.textContent()).toBe('Nb = 4 of 5 flows');
    await line.locator('a.term').focus();
    await why(6);
    await expect.poll(() => line.textContent()).toBe('Nb = 6 of 7 flows');
    expect(await line.locator('a.term').evaluate((e) => e === document.activeElement)).toBe(true);
  });

  it('leads from its symbols to the glossary, by keyboard too', async () => {
    await open('');
    await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
    // A line without symbols is unchanged.
    await expect.poll(() => page.locator('.verdict-because').textContent()).toMatch(/^\p{Lu}.*\.$/u);
    const symbol = page.locator('.estimate h3 a.term').nth(2);
    expect(await symbol.textContent()).toBe('Δ');
    expect(await symbol.getAttribute('title')).toMatch(/^Fairness/);
    await symbol.focus();
    const [glossary] = await Promise.all([page.context().waitForEvent('page'), page.keyboard.press('Enter')]);
    await glossary.locator('td:target', { hasText: 'Δ' }).waitFor();
    // Live text has them as well, each once per line.
    await expect.poll(() => page.locator('.reasons a.term').count()).toBeGreaterThan(0);
    for (const words of await page.locator('.reasons li').evaluateAll((all) => all.map((li) => Array.from(li.querySelectorAll('a.term'), (a) => a.textContent)))) {
      expect(new Set(words).size).toBe(words.length);
    }
    // Titles and meanings contain nothing that is not in the glossary.
    const links = await page.locator('a.term').evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
    await page.goto(`${mock.url}docs/reference/glossary.html`);
    for (const hash of new Set(links.map((l) => decodeURIComponent(new URL(l).hash.slice(1))))) expect(await page.locator(`[id="${hash}"]`).count(), hash).toBe(1);
    expect(problems).toEqual([]);
  });
});
