// SPDX-License-Identifier: Apache-2.0
// Cuts pages at their headings for the search; in the glossary, every line is a section.

import type { Library, Section } from '../src/docs/library.ts';
import { GLOSSARY } from './glossary.ts';
import type { Body } from './page.ts';

/** Returns the text of HTML. */
export function words(html: string): string {
  return html
    .replace(/<\/?(a|var|sub|sup|code|em|strong)\b[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Turns a typeset symbol back into the way it is typed. */
const typed = (html: string): string => html.replace(/<var>([^<]*)<sub>([^<]*)<\/sub><\/var>/g, '$1_$2');

/** Returns the sections of one page that have text. */
export function sections(at: string, body: Body): [id: string, heading: string, text: string][] {
  const html = typed(body.html);
  if (at === GLOSSARY) {
    const rows = [...html.matchAll(/<td id="([^"]+)">([\s\S]*?)<\/td>([\s\S]*?)<\/tr>/g)];
    return rows.map(([, id = '', term = '', rest = '']) => [words(id), words(term), words(rest)]);
  }
  const parts = html.split(/(?=<h[1-4] id=)/);
  return parts.flatMap((part): [string, string, string][] => {
    const [whole = '', id = '', heading = ''] = /^<h[1-4] id="([^"]+)">([\s\S]*?)<\/h[1-4]>/.exec(part) ?? [];
    const text = words(part.slice(whole.length));
    return whole || text ? [[words(id), words(heading), text]] : [];
  });
}

export function library(pages: readonly { at: string; body: Body }[]): Library {
  return {
    pages: pages.map(({ at, body }) => [at.replace(/\.md$/, '.html'), body.title]),
    sections: pages.flatMap(({ at, body }, page) => sections(at, body).map((s): Section => [page, ...s])),
  };
}
