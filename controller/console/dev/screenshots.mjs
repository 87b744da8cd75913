// SPDX-License-Identifier: Apache-2.0
// Pictures for README and documentation (`make screenshots`):
//
//   node dev/screenshots.mjs --out DIR --controller PROGRAM --run RUN --report FILE.html --notebook FILE.html
//   node dev/screenshots.mjs --out DIR http://127.0.0.1:8080/
//
// The first shows RUN in the console (three sizes, both themes) and in a terminal,
// a report and an executed notebook. The second shows the console of a running
// controller.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const SIZES = [[1440, 900], [1024, 768], [390, 844]];
const [COLUMNS, ROWS] = [100, 26];
/** Time until nothing moves any more, ms. */
const SETTLED = 3000;

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(['out', 'controller', 'run', 'report', 'notebook'].map((name) => [name, { type: 'string' }])),
});
for (const name of positionals.length > 0 ? ['out'] : ['out', 'controller', 'run', 'report', 'notebook']) {
  if (given[name] === undefined) {
    process.stderr.write(`screenshots: --${name} is missing; \`make screenshots\` gives them all\n`);
    process.exit(2);
  }
}
mkdirSync(given.out, { recursive: true });

/** Starts the console of the run; returns it with a function that ends it. */
function view() {
  // The page shows the run's path: relative to its folder, it is the same on every machine.
  const program = spawn(resolve(given.controller), ['view', basename(given.run), '--listen', '127.0.0.1:0'], {
    cwd: dirname(resolve(given.run)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((done, failed) => {
    let said = '';
    program.stdout.on('data', (data) => {
      said += data;
      const url = /console: (http:\S+)/.exec(said)?.[1];
      if (url) done({ url, close: () => program.kill('SIGTERM') });
    });
    program.once('error', failed);
    program.once('exit', (code) => failed(new Error(`${given.controller} view ended with ${code}: ${said}`)));
  });
}

async function save(page, name, options = {}) {
  const path = join(given.out, `${name}.png`);
  await page.screenshot({ path, ...options });
  process.stdout.write(`${path}\n`);
}

async function shown(browser, [width, height], colorScheme, what) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  try {
    await what(await context.newPage());
  } finally {
    await context.close();
  }
}

async function consoles(browser, url) {
  for (const size of SIZES) {
    for (const scheme of ['light', 'dark']) {
      await shown(browser, size, scheme, async (page) => {
        await page.goto(url);
        await page.locator('.flow-table tbody tr').first().waitFor({ timeout: 60_000 });
        await page.waitForTimeout(SETTLED);
        await save(page, `console-${size[0]}-${scheme}`);
      });
    }
  }
}

/** Returns the output of `top` in its own terminal, with its first link opened. */
function written(url) {
  const command = `stty cols ${COLUMNS} rows ${ROWS}; exec '${resolve(given.controller)}' top --controller ${url}`;
  const program = spawn('script', ['-qefc', command, '/dev/null'], { env: { ...process.env, TERM: 'xterm-256color' } });
  return new Promise((done, failed) => {
    let out = '';
    program.stdout.on('data', (data) => {
      out += data;
    });
    program.once('error', failed);
    program.once('exit', (code) => failed(new Error(`top ended with ${code}: ${out}`)));
    setTimeout(() => program.stdin.write('\r'), SETTLED);
    setTimeout(() => {
      // Before the program restores the terminal.
      done(out);
      program.stdin.write('q');
    }, 2 * SETTLED);
  });
}

async function terminal(browser, url) {
  const xterm = fileURLToPath(new URL('../node_modules/@xterm/xterm/', import.meta.url));
  const data = await written(url);
  await shown(browser, [1200, 800], 'dark', async (page) => {
    await page.setContent('<!doctype html><title>terminal</title><div id="terminal" style="display: inline-block; padding: 12px; background: #111b1e"></div>');
    await page.addStyleTag({ path: join(xterm, 'css/xterm.css') });
    await page.addScriptTag({ path: join(xterm, 'lib/xterm.js') });
    await page.evaluate(
      async ({ text, cols, rows }) => {
        const theme = { background: '#111b1e', foreground: '#dfe9e9', cursor: '#111b1e' };
        const term = new globalThis.Terminal({ cols, rows, theme, fontSize: 14, lineHeight: 1.2, fontFamily: '"DejaVu Sans Mono", monospace' });
        const place = document.getElementById('terminal');
        term.open(place);
        await new Promise((drawn) => term.write(text, drawn));
        await new Promise((drawn) => setTimeout(drawn, 500));
      },
      { text: data, cols: COLUMNS, rows: ROWS },
    );
    const path = join(given.out, 'terminal.png');
    await page.locator('#terminal').screenshot({ path });
    process.stdout.write(`${path}\n`);
  });
}

/** Takes a picture of the beginning of a file that a program wrote. */
async function file(browser, path, name, size) {
  readFileSync(path);
  await shown(browser, size, 'light', async (page) => {
    // A notebook's page loads scripts from the network, which its cells do not need.
    await page.route(/^https?:/, (route) => route.abort());
    await page.goto(pathToFileURL(resolve(path)).href);
    await page.waitForTimeout(SETTLED);
    await save(page, name);
  });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] });
let run = null;
try {
  run = positionals.length > 0 ? { url: positionals[0], close: () => {} } : await view();
  await consoles(browser, run.url);
  if (positionals.length === 0) {
    await terminal(browser, run.url);
    await file(browser, given.report, 'report', [1100, 1500]);
    await file(browser, given.notebook, 'notebook', [1100, 1540]);
  }
} finally {
  await browser.close();
  run?.close();
}
