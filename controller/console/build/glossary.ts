// SPDX-License-Identifier: Apache-2.0
// Reads docs/reference/glossary.md as a table of terms. The console explains its terms with it
// (`virtual:glossary`), and the pages of the documentation link to it.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Marked, type Tokens } from 'marked';
import type { Plugin } from 'vite';

/** Path of the glossary below docs/. */
export const GLOSSARY = 'reference/glossary.md';

export interface Entry {
  /** Its anchor on the page, made from its first name. */
  id: string;
  names: string[];
  meaning: string;
}

/** Returns the anchor of an entry; unlike a heading's it keeps capitals, since Δ is not δ. */
export function anchor(term: string): string {
  return (term.split(',')[0] ?? '').trim().replace(/\s+/g, '-');
}

/** Returns every row of its tables. Throws if a term occurs twice or has no meaning. */
export function entries(markdown: string): Entry[] {
  const tables = new Marked().lexer(markdown).filter((t): t is Tokens.Table => t.type === 'table');
  const found = tables.flatMap((t) =>
    t.rows.map((row): Entry => {
      const [term = '', meaning = ''] = row.map((c) => c.text.trim());
      if (!term || !meaning) throw new Error(`${GLOSSARY}: a row without a term or its meaning: ${row.map((c) => c.text).join(' | ')}`);
      return { id: anchor(term), names: term.split(',').map((n) => n.trim()), meaning: meaning.replaceAll('`', '') };
    }),
  );
  const names = found.flatMap((e) => e.names);
  const twice = names.find((n, i) => names.indexOf(n) !== i);
  if (twice !== undefined) throw new Error(`${GLOSSARY}: ${twice} stands twice`);
  return found;
}

export function read(): Entry[] {
  return entries(readFileSync(fileURLToPath(new URL(`../../../docs/${GLOSSARY}`, import.meta.url)), 'utf8'));
}

/** Provides the glossary as a module: the meaning and the anchor of each name. */
export function glossary(): Plugin {
  const [asked, resolved] = ['virtual:glossary', '\0virtual:glossary'];
  return {
    name: 'glossary',
    resolveId: (id) => (id === asked ? resolved : undefined),
    load: (id) => {
      if (id !== resolved) return undefined;
      const byName = read().flatMap((e) => e.names.map((n) => [n, [e.id, e.meaning]]));
      return `export default ${JSON.stringify(Object.fromEntries(byName))};`;
    },
  };
}
