// SPDX-License-Identifier: Apache-2.0
// Builds the documentation as pages next to the console, so that the terms of the page are
// explained without a network: docs/**/*.md becomes dist/docs/**/*.html, with the pictures that the
// pages show and search.json.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { read } from './glossary.ts';
import { type Body, body, escaped, page } from './page.ts';
import { library } from './sections.ts';
import { pictureSize } from './size.ts';
import { sideBar, summary } from './summary.ts';

const DOCS = fileURLToPath(new URL('../../../docs', import.meta.url));
const SUMMARY = 'SUMMARY.md';
/** Name of the pages' own script, in vite.config.ts. */
export const ENTRY = 'docs';

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) => {
    const path = join(folder, e.name);
    return e.isDirectory() ? files(path) : e.name.endsWith('.md') ? [path] : [];
  });
}

/** All pages, in a stable order. */
export function everyPage(): { at: string; body: Body }[] {
  const entries = read();
  const sizes = (path: string) => (existsSync(join(DOCS, path)) ? pictureSize(path, readFileSync(join(DOCS, path))) : null);
  return files(DOCS)
    .map((path) => relative(DOCS, path).split(sep).join('/'))
    .filter((at) => at !== SUMMARY)
    .sort()
    .map((at) => ({ at, body: body(at, readFileSync(join(DOCS, at), 'utf8'), entries, sizes) }));
}

export function everyPart() {
  return summary(readFileSync(join(DOCS, SUMMARY), 'utf8'));
}

export function documentation(): Plugin {
  return {
    name: 'documentation',
    apply: 'build',
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((c) => c.type === 'chunk');
      const entry = chunks.find((c) => c.isEntry && c.name === ENTRY);
      if (!entry) throw new Error(`no entry ${ENTRY}`);
      const loaded = [entry, ...chunks.filter((c) => entry.imports.includes(c.fileName))];
      const styles = [...new Set(loaded.flatMap((c) => [...(c.viteMetadata?.importedCss ?? [])]))];
      const emit = (fileName: string, source: string | Uint8Array) => this.emitFile({ type: 'asset', fileName: posix.join('docs', fileName), source });
      const [pages, parts] = [everyPage(), everyPart()];
      for (const { at, body: b } of pages) {
        // `make screenshots` makes these pictures, with the console that is built here.
        for (const href of b.missing) this.warn(`docs/${at}: no picture ${href}`);
        const nav = sideBar(parts, at, b.headings, escaped);
        emit(at.replace(/\.md$/, '.html'), page(at, b, nav, { script: entry.fileName, styles }));
      }
      for (const path of new Set(pages.flatMap((p) => p.body.pictures))) emit(path, readFileSync(join(DOCS, path)));
      emit('search.json', JSON.stringify(library(pages)));
    },
  };
}
