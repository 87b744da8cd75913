// SPDX-License-Identifier: Apache-2.0
// The first screen: the whole verdict is on it at every size, the limit can be moved over its
// picture, and the counters open from one mark.

import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Mock, startMock } from '../../dev/mock-server.mjs';
import { launch } from './chromium';

let browser: Browser;
let mock: Mock;
let page: Page;

async function open(width: number, height: number, options: { touch?: boolean; dark?: boolean } & Parameters<typeof startMock>[0] = {}): Promise<void> {
  mock = await startMock({ warmSeconds: 40, ...options });
  const context = await browser.newContext({ viewport: { width, height }, hasTouch: options.touch ?? false, colorScheme: options.dark ? 'dark' : 'light' });
  page = await context.newPage();
  await page.goto(mock.url);
  await page.locator('.verdict[data-answer]').waitFor({ timeout: 60_000 });
  await expect.poll(() => page.locator('.verdict-at').isVisible()).toBe(true);
  await page.evaluate(() => document.fonts.ready);
}

const say = (data: object) => page.request.post(`${mock.url}mock/say`, { data });
const reading = () => page.locator('.verdict-at').innerText().then((t) => t.replace(/\s+/g, ' '));
const slider = () => page.getByRole('slider', { name: 'Limit to look at' });

/** Returns the size for which the reading is shown, kB. */
const readSize = async (): Promise<number> => Number(/At ([\d.]+) kB/.exec(await reading())?.[1]);

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser?.close());
afterEach(async () => {
  await page?.context().close();
  await mock?.close();
});

describe('the verdict', () => {
  it.each([[1440, 900], [1024, 768], [390, 844]] as const)('is wholly on the first screen of %i × %i', async (width, height) => {
    await open(width, height);
    for (const answer of ['too_big', 'fine', 'cannot_say']) {
      const because = answer === 'cannot_say' ? 'the range of limits that may serve, 81.0 kB to 312 kB, covers both answers: a trial at 158 kB would decide' : undefined;
      for (const l of mock.links) Object.assign(l, { verdict: { answer, ...(because ? { because } : {}) } });
      await expect.poll(() => page.locator('.verdict').getAttribute('data-answer')).toBe(answer);
      await page.waitForTimeout(100);
      const parts = ['.verdict', '.verdict-answer', '.verdict-because', '.figure-advised', '.figure-set', '#verdict-picture', '.verdict-drawing svg', '.verdict-at'];
      const places = await page.evaluate((all) => all.map((s) => ({ s, box: document.querySelector(s)?.getBoundingClientRect() })).map(({ s, box }) => ({ s, top: box?.top ?? -1, bottom: box?.bottom ?? 1e9, right: box?.right ?? 1e9, height: box?.height ?? 0 })), parts);
      const innerHeight = await page.evaluate(() => window.innerHeight);
      expect(innerHeight).toBe(height);
      for (const p of places) {
        expect(p.top, `${answer} ${p.s}`).toBeGreaterThanOrEqual(0);
        expect(p.bottom, `${answer} ${p.s}`).toBeLessThanOrEqual(innerHeight);
        expect(p.right, `${answer} ${p.s}`).toBeLessThanOrEqual(width);
        expect(p.height, `${answer} ${p.s}`).toBeGreaterThan(8);
      }
      expect(await page.evaluate(() => window.scrollY)).toBe(0);
    }
  });

  it('says answer, reason, limits that serve, the one to set and its chance', async () => {
    await open(1440, 900);
    const sizes = { in_force_bytes: 312_500, low_bytes: 156_000, set_bytes: 224_000, high_bytes: 269_000, chance: 0.932 };
    await say({ link: { verdict: { answer: 'too_big', because: 'less serves', ...sizes } } });
    const words = (selector: string) => page.locator(selector).innerText().then((t) => t.replace(/\s+/g, ' '));
    await expect.poll(() => words('.verdict h2')).toBe('Buffer Too big');
    await expect.poll(() => words('.verdict-because')).toBe('Less serves.');
    expect(await words('.figure-in-force')).toBe('In force 313 kB 206 pkts, 25.0 ms');
    expect(await words('.figure-advised')).toBe('Limits that serve 156 to 269 kB');
    expect(await words('.figure-set')).toBe('To set 224 kB 93 % chance to meet the targets');
    const line = page.locator('.verdict-line');
    expect(await line.textContent()).toBe('Buffer too big: 313 kB in force, 156 kB to 269 kB serve; set 224 kB');
    expect(await line.getAttribute('aria-live')).toBe('polite');
    await say({ link: { verdict: { answer: 'cannot_say', because: 'only 2.0 s were measured; wait for 5 s' } } });
    await expect.poll(() => words('.verdict-because')).toBe('Only 2.0 s were measured; wait for 5 s.');
    expect(await words('.figure-advised')).toBe('Limits that serve –');
    await say({ link: { verdict: null } });
    await expect.poll(() => words('.verdict h2')).toBe('Buffer No verdict yet');
  });

  it('leads to its reasons and to the button that sets it', async () => {
    await open(1024, 768);
    await page.getByRole('button', { name: 'Reasons and apply' }).click();
    await expect.poll(() => page.locator('.advice').evaluate((e) => e.getBoundingClientRect().top < window.innerHeight)).toBe(true);
  });
});

describe('the picture', () => {
  it('has a limit that arrow keys move, with what is expected there', async () => {
    await open(1440, 900);
    await expect.poll(readSize).toBe(158);
    await slider().focus();
    await page.keyboard.press('ArrowRight');
    const right = await readSize();
    expect(right).toBeGreaterThan(158);
    expect(right).toBeLessThan(164);
    for (let i = 0; i < 2; i += 1) await page.keyboard.press('ArrowLeft');
    expect(await readSize()).toBeLessThan(158);
    await page.keyboard.press('PageUp');
    expect(await readSize()).toBeGreaterThan(right);
    expect(await slider().getAttribute('aria-valuetext')).toMatch(/^at [\d.]+ kB: utilisation [\d.]+ %, loss [\d.]+ %, delay up to [\d.]+ ms$/);
    // The limit stays where it was put while the page goes on.
    const put = await readSize();
    await page.waitForTimeout(2500);
    expect(await readSize()).toBe(put);
    await page.locator('.verdict-at').getByRole('button', { name: 'Back' }).click();
    expect(await readSize()).toBe(158);
  });

  it('has a limit that the pointer drags, and loss falls as it grows', async () => {
    await open(1024, 768);
    await expect.poll(readSize).toBe(158);
    const box = await slider().boundingBox();
    if (!box) throw new Error('there is no slider');
    const at = async (share: number): Promise<{ kB: number; loss: number; delay: number }> => {
      await page.mouse.move(box.x + 12 + (box.width - 24) * share, box.y + 60, { steps: 3 });
      const words = await reading();
      return { kB: await readSize(), loss: Number(/loss ([\d.]+) %/.exec(words)?.[1]), delay: Number(/delay up to ([\d.]+) ms/.exec(words)?.[1]) };
    };
    await page.mouse.move(box.x + 12 + (box.width - 24) * 0.25, box.y + 60);
    await page.mouse.down();
    const small = await at(0.26);
    const large = await at(0.7);
    await page.mouse.up();
    expect(large.kB).toBeGreaterThan(1.5 * small.kB);
    expect(large.loss).toBeLessThan(small.loss);
    expect(large.delay).toBeGreaterThan(small.delay);
    // The line is under the pointer.
    const drawn = await page.locator('.verdict-drawing text').allTextContents();
    expect(drawn.filter((t) => /^(set|in force) \d/.test(t)).length).toBe(2);
    expect(drawn).toContain('limit');
  });

  it('follows a finger, and the unit of the page', async () => {
    await open(390, 844, { touch: true });
    await expect.poll(readSize).toBe(158);
    const box = await slider().boundingBox();
    if (!box) throw new Error('there is no slider');
    const client = await page.context().newCDPSession(page);
    const touch = (type: string, share: number) =>
      client.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + box.width * share, y: box.y + box.height / 2 }] });
    await touch('touchStart', 0.4);
    for (let k = 1; k <= 6; k += 1) await touch('touchMove', 0.4 + 0.07 * k);
    await touch('touchEnd', 0);
    await expect.poll(readSize).toBeGreaterThan(200);
    await page.getByRole('button', { name: 'ms at C' }).click();
    await expect.poll(reading).toMatch(/^At [\d.]+ ms: utilisation/);
  });
});

describe('without a port', () => {
  it('is a short list of what to check, and no empty charts', async () => {
    mock = await startMock({ noLinks: true });
    page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
    await page.goto(mock.url);
    await page.locator('.checks li').first().waitFor();
    const words = (await page.locator('.checks li').allInnerTexts()).map((t) => t.replace(/\s+/g, ' '));
    expect(words.length).toBe(5);
    expect(words[0]).toMatch(/^ok collector 127\.0\.0\.1:9560 version [^ ]+, 0 reports/);
    expect(words[1]).toMatch(/^look here reports at 127\.0\.0\.1:9560 none so far .*tcpdump/);
    expect(words[2]).toMatch(/^could be better tcp_probe at 127\.0\.0\.1:9560/);
    expect(words[3]).toMatch(/^ok switch/);
    expect(words[4]).toMatch(/^look here links none has reported/);
    expect(await page.locator('.start').innerText()).toContain('tidemark controller doctor');
    expect(await page.locator('canvas:visible').count()).toBe(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await say({ findings: [{ check: 'collector 127.0.0.1:9560', verdict: 'problem', found: 'connection refused', remedy: 'does it run? `ss -ltn` tells' }] });
    await expect.poll(() => page.locator('.checks').innerText().then((t) => t.replace(/\s+/g, ' '))).toBe('look here collector 127.0.0.1:9560 connection refused does it run? ss -ltn tells');
  });

  it('gives way to the page of the first port', async () => {
    await open(1024, 768);
    expect(await page.locator('.start').isVisible()).toBe(false);
    expect(await page.locator('canvas:visible').count()).toBeGreaterThan(8);
  });
});

describe('the counters', () => {
  it('open from one mark, by keyboard and touch, over a page that stays', async () => {
    await open(390, 844, { touch: true });
    const mark = page.locator('.health summary');
    const counters = page.locator('.counters');
    expect(await counters.isVisible()).toBe(false);
    const place = () => page.locator('.verdict').evaluate((e) => e.getBoundingClientRect().top);
    const before = await place();
    await mark.tap();
    expect(await counters.isVisible()).toBe(true);
    expect(await place()).toBe(before);
    const box = await counters.boundingBox();
    expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 999) <= 390).toBe(true);
    expect(await counters.locator('div').count()).toBe(7);
    await mark.focus();
    await page.keyboard.press('Enter');
    expect(await counters.isVisible()).toBe(false);
  });

  it('say at the mark that one of them is not as it should be', async () => {
    await open(1440, 900);
    await expect.poll(() => page.locator('.state-open').textContent()).toBe('Counters');
    await page.request.post(`${mock.url}mock/counters`, { data: { reports_lost: 40 } });
    try {
      await expect.poll(() => page.locator('.state-open').textContent()).toBe('Counters: 1 not as it should be');
      expect(await page.locator('.counters [data-bad]').textContent()).toMatch(/^lost.*40$/);
    } finally {
      await page.request.post(`${mock.url}mock/counters`, { data: { reports_lost: 0 } });
    }
  });
});
