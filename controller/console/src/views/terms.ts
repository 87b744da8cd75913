// SPDX-License-Identifier: Apache-2.0
// Terms of the field, explained where they stand: each leads to its line of the
// glossary that the controller serves, and says that line when pointed at.

import entries from 'virtual:glossary';
import { h, symbol } from '../dom';
import { finder, symbolic } from '../format/mentions';
import { pieces } from '../format/typeset';

/** The line of the glossary; empty for a name that it does not have. */
export function meaning(name: string): string {
  return entries[name]?.[1] ?? '';
}

function set(name: string): HTMLElement | string {
  const [p] = pieces(name);
  return p?.sub ? symbol(p.text, p.sub) : name;
}

/** A term with its explanation. */
export function term(name: string, shown: string | HTMLElement = set(name)): HTMLElement {
  const id = entries[name]?.[0];
  if (id === undefined) return h('span', {}, shown);
  return h('a', { class: 'term', href: `docs/reference/glossary.html#${encodeURIComponent(id)}`, target: '_blank', rel: 'noopener', title: meaning(name) }, shown);
}

const find = finder(Object.keys(entries).filter(symbolic));
const shown = new WeakMap<Element, { value: string; shape: string }>();

/**
 * Like `prose`, with each symbol leading to the glossary where it stands first.
 * While only the words between them change, the links stay: one keeps its focus.
 */
export function linked(e: Element, value: string): void {
  const old = shown.get(e);
  if (old?.value === value) return;
  const parts = find(value).flatMap((p) => (p.name ? [p] : pieces(p.text).map((q) => ({ text: q.sub ? `${q.text}_${q.sub}` : q.text, name: q.sub ? '-' : '' }))));
  // Text has a mark of its own: a line of words alone is not an empty one.
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

/** A link to a page of the documentation. */
export function docs(page: string, words: string, about: string): HTMLElement {
  return h('a', { class: 'docs', href: `docs/${page}`, target: '_blank', rel: 'noopener', title: about, 'aria-label': words === '?' ? about : `${words}: ${about}` }, words);
}
