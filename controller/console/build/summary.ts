// SPDX-License-Identifier: Apache-2.0
// Turns docs/SUMMARY.md, mdBook's list of pages in parts, into the side bar of every page.

import { posix } from 'node:path';

export interface Item {
  title: string;
  /** Path of the page below docs/, with .md. */
  at: string;
  children: Item[];
}

export interface Part {
  title: string;
  items: Item[];
}

/** Parses the list. Throws on a line that is neither a page nor the title of a part. */
export function summary(markdown: string): Part[] {
  const parts: Part[] = [{ title: '', items: [] }];
  for (const line of markdown.split('\n').slice(1)) {
    if (line.trim() === '') continue;
    const title = /^# (.+)$/.exec(line)?.[1];
    if (title) {
      parts.push({ title, items: [] });
      continue;
    }
    const [, indent = '', words, at] = /^( *)(?:- )?\[(.+)\]\(([^)#]+\.md)\)$/.exec(line) ?? [];
    if (!words || !at) throw new Error(`docs/SUMMARY.md: neither a page nor a part: ${line}`);
    const items = parts.at(-1)?.items ?? [];
    const siblings = indent ? items.at(-1)?.children : items;
    if (!siblings) throw new Error(`docs/SUMMARY.md: below no page: ${line}`);
    siblings.push({ title: words.replaceAll('`', ''), at, children: [] });
  }
  return parts.filter((p) => p.items.length > 0);
}

/** Returns the relative address from one page to another, both below docs/. */
export function between(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to).replace(/\.md$/, '.html');
}

/** A heading of the current page. */
export interface Heading {
  id: string;
  html: string;
}

function list(items: readonly Item[], at: string, headings: readonly Heading[], escaped: (s: string) => string): string {
  const lines = items.map((i) => {
    const here = i.at === at;
    const link = `<a href="${escaped(between(at, i.at))}"${here ? ' aria-current="page"' : ''}>${escaped(i.title)}</a>`;
    const inside = here && headings.length > 1 ? `<ul>${headings.map((h) => `<li><a href="#${escaped(h.id)}">${h.html}</a></li>`).join('')}</ul>` : '';
    if (i.children.length === 0) return `<li>${link}${inside}</li>`;
    // A long list is open if it contains the current page.
    const open = here || i.children.some((c) => c.at === at);
    const more = `<details${open ? ' open' : ''}><summary>All ${i.children.length}</summary>${list(i.children, at, headings, escaped)}</details>`;
    return `<li>${link}${inside}${more}</li>`;
  });
  return `<ul>${lines.join('')}</ul>`;
}

/** Renders the list as it stands next to the page `at`. */
export function sideBar(parts: readonly Part[], at: string, headings: readonly Heading[], escaped: (s: string) => string): string {
  return parts.map((p) => `${p.title ? `<p class="part">${escaped(p.title)}</p>` : ''}${list(p.items, at, headings, escaped)}`).join('');
}
