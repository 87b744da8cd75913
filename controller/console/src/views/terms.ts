// SPDX-License-Identifier: Apache-2.0
// Explains terms of the field in place: each links to its line of the glossary that the controller
// serves, and shows that line on hover.

import entries from 'virtual:glossary';
import { h, symbol } from '../dom';
import { finder, symbolic } from '../format/mentions';
import { pieces } from '../format/typeset';

/** Returns the line of the glossary; empty for a name that it lacks. */
export function meaning(name: string): string {
  return entries[name]?.[1] ?? '';
}

function set(name: string): HTMLElement | string {
  const [p] = pieces(name);
  return p?.sub ? symbol(p.text, p.sub) : name;
}

/** Creates a term with its explanation. */
export function term(name: string, shown: string | HTMLElement = set(name)): HTMLElement {
  const id = entries[name]?.[0];
  if (id === undefined) return h('span', {}, shown);
  return h('a', { class: 'term', href: `docs/reference/glossary.html#${encodeURIComponent(id)}`, target: '_blank', rel: 'noopener', title: meaning(name) }, shown);
}

const find = finder(Object.keys(entries).filter(symbolic));
const shown = new WeakMap<Element, { value: string; shape: string }>();

/**
 * Like `prose`, but the first occurrence of each symbol links to the glossary. If only the words
 * between them change, the links stay, and one keeps its focus.
 */
export function linked(e: Element, value: string): void {
  const old = shown.get(e);
  if (old?.value === value) return;
  const parts = find(value).flatMap((p) => (p.name ? [p] : pieces(p.text).map((q) => ({ text: q.sub ? `${q.text}_${q.sub}` : q.text, name: q.sub ? '-' : '' }))));
  // Text is marked, so that a line of words alone differs from an empty one.
  const shape = parts.map((p) => (p.name ? p.text : '…')).join('\n');
  shown.set(e, { value, shape });
  if (old?.shape === shape) {
    for (const [i, p] of parts.entries()) if (!p.name) (e.childNodes[i] as Text).data = p.text;
    return;
  }
  const first = new Set<string>();
  const node = ({ text, name }: { text: string; name: string }): Node => {
    if (!name) return document.createTextNode(text);
    if (name === '-' || first.has(name)) return h('span', {}, set(text));
    first.add(name);
    return term(name);
  };
  e.replaceChildren(...parts.map(node));
}

/** Creates a link to a page of the documentation. */
export function docs(page: string, words: string, about: string): HTMLElement {
  return h('a', { class: 'docs', href: `docs/${page}`, target: '_blank', rel: 'noopener', title: about, 'aria-label': words === '?' ? about : `${words}: ${about}` }, words);
}
