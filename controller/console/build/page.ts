// SPDX-License-Identifier: Apache-2.0
// Renders a page of the documentation: Markdown to HTML, with its pictures, its headings, and
// symbols that link to the glossary.

import { posix } from 'node:path';
import { Marked } from 'marked';
import { finder, symbolic } from '../src/format/mentions.ts';
import { pieces } from '../src/format/typeset.ts';
import { anchor, type Entry, GLOSSARY } from './glossary.ts';
import { between, type Heading } from './summary.ts';

export interface Body {
  title: string;
  html: string;
  /** All anchors of the page. */
  ids: string[];
  /** Second-level headings. */
  headings: Heading[];
  /** Pictures that the page shows, as paths below docs/. */
  pictures: string[];
  /** Missing pictures, as the page names them: their text is shown instead. */
  missing: string[];
  /** Links to other pages, as paths below docs/, with their anchors. */
  links: { page: string; id: string }[];
}

/** Returns width and height of a picture, CSS pixels; null if there is no such file. */
export type Sizes = (path: string) => { width: number; height: number } | null;

/** Returns the anchor of a heading, as GitHub makes it. */
export function slug(heading: string): string {
  return heading
    .replace(/<[^>]*>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Typesets symbols outside of code, and links the first of each below a heading. */
function symbols(html: string, at: string, entries: readonly Entry[]): string {
  const byName = new Map(entries.flatMap((e) => e.names.map((n) => [n, e] as const)));
  const find = finder([...byName.keys()].filter(symbolic));
  const there = between(at, GLOSSARY);
  const first = new Set<string>();
  const within = { code: 0, link: 0, heading: 0 };
  const set = (name: string): string => pieces(name).map((p) => (p.sub ? `<var>${p.text}<sub>${p.sub}</sub></var>` : p.text)).join('');
  const named = (name: string): string => {
    const e = byName.get(name);
    if (!e || at === GLOSSARY || within.link + within.heading > 0 || first.has(e.id)) return set(name);
    first.add(e.id);
    return `<a class="term" href="${escaped(`${there}#${encodeURIComponent(e.id)}`)}" title="${escaped(e.meaning)}">${set(name)}</a>`;
  };
  return html.replace(/<[^>]*>|[^<]+/g, (part) => {
    const [, end, tag] = /^<(\/?)(a|code|h[1-6])\b/.exec(part) ?? [];
    if (tag) {
      within[tag === 'a' ? 'link' : tag === 'code' ? 'code' : 'heading'] += end ? -1 : 1;
      if (/^h[12]$/.test(tag) && !end) first.clear();
      return part;
    }
    return part.startsWith('<') || within.code > 0 ? part : find(part).map((p) => (p.name ? named(p.name) : p.text)).join('');
  });
}

/** Renders the body of a page; `at` is its path below docs/. */
export function body(at: string, markdown: string, entries: readonly Entry[], sizes: Sizes): Body {
  const below = (to: string): string => posix.join(posix.dirname(at), to);
  const [pictures, missing, ids, headings, links]: [string[], string[], string[], Heading[], Body['links']] = [[], [], [], [], []];
  const named = (id: string): string => {
    ids.push(id);
    return ` id="${escaped(id)}"`;
  };
  const marked = new Marked({
    walkTokens(token) {
      if (at !== GLOSSARY || token.type !== 'table') return;
      for (const [cell] of token.rows) cell.anchor = anchor(cell.text);
    },
    renderer: {
      heading({ tokens, depth, text }) {
        const html = this.parser.parseInline(tokens);
        const same = slug(text);
        const before = ids.filter((id) => id === same || id.replace(/-\d+$/, '') === same).length;
        const id = before === 0 ? same : `${same}-${before}`;
        if (depth === 2) headings.push({ id, html: html.replace(/<\/?a\b[^>]*>/g, '') });
        return `<h${depth}${named(id)}>${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        if (/^[a-z]+:/i.test(href)) return /^https?:/.test(href) ? `<a href="${escaped(href)}">${words}</a>` : words;
        const [path = '', id = ''] = href.split('#');
        const page = path ? below(path) : at;
        if (!page.endsWith('.md') || page.startsWith('..')) return words;
        links.push({ page, id });
        return `<a href="${escaped(path ? between(at, page) : '')}${id ? `#${escaped(id)}` : ''}">${words}</a>`;
      },
      // An empty corner of a table is not a heading.
      tablecell(cell) {
        const content = this.parser.parseInline(cell.tokens);
        const tag = cell.header && content ? 'th' : 'td';
        const id = (cell as { anchor?: string }).anchor;
        return `<${tag}${id ? named(id) : ''}${cell.align ? ` align="${cell.align}"` : ''}>${content}</${tag}>\n`;
      },
      image({ href, text }) {
        const path = below(href);
        const size = /^[a-z]+:/i.test(href) || path.startsWith('..') ? null : sizes(path);
        if (!size) {
          missing.push(href);
          return escaped(text);
        }
        pictures.push(path);
        const to = escaped(href);
        return `<a class="picture" href="${to}"><img src="${to}" alt="${escaped(text)}" width="${size.width}" height="${size.height}" loading="lazy"></a>`;
      },
      // HTML of the documentation itself: sub- and superscripts; marks of generated parts are not shown.
      html: ({ text }) => (/^<!--[\s\S]*-->$/.test(text.trim()) ? '' : /^<\/?(sub|sup|br)>$/.test(text.trim()) ? text : escaped(text)),
    },
  });
  // Content wider than the screen scrolls, with the keyboard too.
  const html = String(marked.parse(markdown.replace(/^---\n[\s\S]*?\n---\n/, '')))
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>');
  const title = /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? at;
  return { title, html: symbols(html, at, entries), ids, headings, pictures: [...new Set(pictures)], missing, links };
}

/** Files that every page loads, as paths below the console's folder. */
export interface Assets {
  script: string;
  styles: readonly string[];
}

/** Renders the whole page around a body; `nav` is its side bar. */
export function page(at: string, { title, html }: Body, nav: string, { script, styles }: Assets): string {
  const up = '../'.repeat(at.split('/').length);
  const links = styles.map((s) => `<link rel="stylesheet" href="${up}${s}">`).join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${escaped(title)} · Tidemark</title><link rel="icon" type="image/svg+xml" href="${up}mark.svg">${links}<script type="module" src="${up}${script}" blocking="render"></script></head>
<body data-up="${up}"><a class="skip" href="#text">To the text</a>
<header><a href="${up}">Console</a><a href="${up}docs/README.html">Documentation</a><div class="search" role="search" hidden><input type="search" id="search" aria-label="Search the documentation" placeholder="Search ( / )" autocomplete="off"><div class="found" hidden><p role="status"></p><ol></ol></div></div><button type="button" class="theme" hidden></button></header>
<div class="columns"><nav aria-label="Pages"><details class="pages"><summary>Pages</summary>${nav}</details></nav><main id="text" tabindex="-1">${html}</main></div></body></html>
`;
}
