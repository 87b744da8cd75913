// SPDX-License-Identifier: Apache-2.0
// Tests the names and pages that the panels refer to.

import { readdirSync, readFileSync } from 'node:fs';
import entries from 'virtual:glossary';
import { describe, expect, it } from 'vitest';

const FOLDER = new URL('./', import.meta.url);
const sources = readdirSync(FOLDER)
  .filter((f) => f.endsWith('.ts') && !f.endsWith('.test.ts'))
  .map((f) => readFileSync(new URL(f, FOLDER), 'utf8'))
  .join('\n');

function said(pattern: RegExp): string[] {
  return [...sources.matchAll(pattern)].map((m) => m[1] ?? '');
}

describe('what the panels explain', () => {
  it('is in the glossary', () => {
    const names = [...said(/\b(?:term|meaning)\('([^']+)'/g), ...said(/\bsymbol: '([^']+)'/g), 'transparent', 'elastic', 'overload'];
    expect(names).toContain('N_b');
    expect(names).toContain('α');
    expect(names).toContain('cwnd');
    expect(names.filter((n) => !(n in entries))).toEqual([]);
  });

  it('has its page in the documentation', () => {
    const pages = said(/\bdocs\('([^']+)\.html'/g);
    expect(pages.length).toBeGreaterThan(5);
    for (const page of pages) expect(readFileSync(new URL(`../../../../docs/${page}.md`, FOLDER), 'utf8'), page).toMatch(/^# /m);
  });
});
