// SPDX-License-Identifier: Apache-2.0
// Searches all pages: the index is made in the page, so that no server is needed.

import MiniSearch from 'minisearch';

/** Number of its page, anchor, heading, text. */
export type Section = [page: number, id: string, heading: string, text: string];

/** Content of `search.json` (build/sections.ts). */
export interface Library {
  /** Address below docs/, and title. */
  pages: [href: string, title: string][];
  sections: Section[];
}

export interface Hit {
  href: string;
  title: string;
  heading: string;
  /** Words around the first match. */
  excerpt: string;
  /** Matching words of the text. */
  found: string[];
}

/** Records of measurements and decisions rank below instructions and reference pages. */
const WEIGHTS: readonly [string, number][] = [
  ['reference/glossary', 2],
  ['benchmarks/', 0.3],
  ['papers/', 0.6],
  ['decisions/', 0.6],
];
const MOST = 20;
const AROUND = 60;

/** Returns the words as typed: N_b and limit_bytes are one word each. */
function typed(text: string): string[] {
  return text.split(/[^\p{L}\p{M}\p{N}_]+/u).filter((w) => w !== '');
}

/** Returns the words as typed, and the parts of words with underscores. */
function indexed(text: string): string[] {
  return typed(text).flatMap((w) => (/._./.test(w) ? [w, ...w.split('_').filter((p) => p.length > 2)] : [w]));
}

function excerpt(text: string, found: readonly string[]): string {
  const low = text.toLowerCase();
  const places = found.map((w) => low.indexOf(w)).filter((i) => i >= 0);
  const at = places.length > 0 ? Math.min(...places) : 0;
  const start = at <= AROUND ? 0 : text.lastIndexOf(' ', at - AROUND) + 1;
  const stop = text.indexOf(' ', at + 2 * AROUND);
  const end = stop < 0 ? text.length : stop;
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

/** Creates a search for sections that contain all words, or their beginnings, best first. */
export function searcher({ pages, sections }: Library): (query: string) => Hit[] {
  const index = new MiniSearch<{ id: number; heading: string; title: string; text: string }>({
    fields: ['heading', 'title', 'text'],
    tokenize: indexed,
    searchOptions: {
      tokenize: typed,
      boost: { heading: 4, title: 2 },
      prefix: (w) => w.length > 1,
      fuzzy: (w) => (w.length > 5 ? 0.2 : false),
      combineWith: 'AND',
      boostDocument: (id) => {
        const href = pages[sections[id as number]?.[0] ?? -1]?.[0] ?? '';
        return WEIGHTS.find(([start]) => href.startsWith(start))?.[1] ?? 1;
      },
    },
  });
  index.addAll(sections.map(([page, , heading, text], id) => ({ id, heading, title: pages[page]?.[1] ?? '', text })));
  return (query) =>
    index
      .search(query)
      .slice(0, MOST)
      .flatMap((r) => {
        const [page, id, heading, text] = sections[r.id as number] ?? [-1, '', '', ''];
        const at = pages[page];
        if (!at) return [];
        return [{ href: `${at[0]}#${encodeURIComponent(id)}`, title: at[1], heading, excerpt: excerpt(text, r.terms), found: r.terms }];
      });
}
