// SPDX-License-Identifier: Apache-2.0
// A few helpers that keep DOM code short. Text is only ever set as text, so nothing that arrives
// from the network can become markup.

import { pieces } from './format/typeset';

type Value = string | number | boolean | null | undefined;
type Attributes = Record<string, Value | ((e: Event) => void)>;
export type Child = Node | string | null | undefined;

/** Creates an element; null/undefined/false attributes are left out, functions such as `onclick` listen. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element, in the same way. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill<E extends Element>(e: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(name.slice(2), value);
    else attr(e, name, value);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

/** Sets or removes an attribute, but only if it changes. */
export function attr(e: Element, name: string, value: Value): void {
  if (value == null || value === false) {
    if (e.hasAttribute(name)) e.removeAttribute(name);
    return;
  }
  const text = value === true ? '' : String(value);
  if (e.getAttribute(name) !== text) e.setAttribute(name, text);
}

/** Sets a CSS variable. A `style` attribute would be refused by the page's policy. */
export function variable(e: HTMLElement, name: string, value: string): void {
  if (e.style.getPropertyValue(name) !== value) e.style.setProperty(name, value);
}

/** Sets the text, but only if it changes: an unchanged page is not repainted. */
export function text(e: Element, value: string): void {
  if (e.textContent !== value) e.textContent = value;
}

const written = new WeakMap<Element, string>();

/** Like `text`, but typesets symbols such as N_b. */
export function prose(e: Element, value: string): void {
  if (written.get(e) === value) return;
  written.set(e, value);
  e.replaceChildren(...pieces(value).map((p) => (p.sub ? symbol(p.text, p.sub) : p.text)));
}

/** Returns a symbol with a subscript: T<sub>e</sub>. */
export function symbol(base: string, sub?: string): HTMLElement {
  return h('var', { class: 'symbol' }, base, sub ? h('sub', {}, sub) : null);
}

/**
 * Makes the children of `parent` exactly one element per item, and reuses the elements of items
 * that stay, so that focus, hover and scroll survive updates.
 */
export function keyed<T, E extends Element>(
  parent: Element,
  items: readonly T[],
  key: (item: T) => string,
  create: (item: T) => E,
  update: (element: E, item: T) => void,
): void {
  const old = new Map<string, E>();
  for (const child of Array.from(parent.children)) old.set((child as HTMLElement).dataset.key ?? '', child as E);
  let place: Element | null = parent.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let e = old.get(k);
    if (e) {
      old.delete(k);
    } else {
      e = create(item);
      e.setAttribute('data-key', k);
    }
    update(e, item);
    if (e === place) place = place.nextElementSibling;
    else parent.insertBefore(e, place);
  }
  for (const e of old.values()) e.remove();
}
