// SPDX-License-Identifier: Apache-2.0
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** $CHROMIUM, /usr/bin/chromium, or one of its names on PATH. */
export function findChromium(): string {
  const wanted = process.env.CHROMIUM;
  if (wanted) {
    if (executable(wanted)) return wanted;
    throw new Error(`CHROMIUM=${wanted} is not an executable file.`);
  }
  const places = ['/usr/bin/chromium', ...(process.env.PATH ?? '').split(delimiter).flatMap((d) => NAMES.map((n) => join(d, n)))];
  const found = places.find(executable);
  if (found) return found;
  throw new Error('No Chromium was found. Install one (Debian: apt-get install chromium) or set CHROMIUM to its path.');
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
