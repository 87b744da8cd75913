// SPDX-License-Identifier: Apache-2.0
// Pictures of the page for README and documentation, of a running controller or
// of the stand-in:
//
//   node dev/screenshots.mjs [URL] [--out DIR]
//
// Into DIR (docs/images): console.png and console-dark.png at 1440 px, and, with
// --all, 1024 and 390 px in both themes, and a held span packet by packet.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startMock } from './mock-server.mjs';

const args = process.argv.slice(2);
const all = args.includes('--all');
const at = args.indexOf('--out');
const out = at < 0 ? fileURLToPath(new URL('../../../docs/images', import.meta.url)) : args[at + 1];
const given = args.find((a) => /^https?:/.test(a));
mkdirSync(out, { recursive: true });

const mock = given ? null : await startMock({ warmSeconds: 90 });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });

async function shoot(name, width, colorScheme, { fullPage = false, held = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height: width < 500 ? 844 : 1000 }, colorScheme });
  const page = await context.newPage();
  await page.goto(given ?? mock.url);
  await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
  await page.waitForTimeout(3000);
  if (held) {
    await page.getByRole('button', { name: 'Hold', exact: true }).click();
    for (let i = 0; i < 4; i += 1) await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.waitForTimeout(2000);
    const step = page.getByRole('button', { name: 'Packet after' });
    if (await step.isVisible()) await step.click();
    await page.waitForTimeout(500);
  }
  const path = join(out, `${name}.png`);
  await page.screenshot({ path, fullPage });
  process.stdout.write(`${path}\n`);
  await context.close();
}

try {
  await shoot('console', 1440, 'light');
  await shoot('console-dark', 1440, 'dark');
  if (all) {
    for (const [width, scheme] of [[1440, 'light'], [1440, 'dark'], [1024, 'light'], [1024, 'dark'], [390, 'light'], [390, 'dark']]) {
      await shoot(`console-${width}-${scheme}`, width, scheme, { fullPage: true });
    }
    await shoot('console-held', 1440, 'light', { held: true });
  }
} finally {
  await browser.close();
  await mock?.close();
}
