// SPDX-License-Identifier: Apache-2.0
// Parts that several panels use.

import { attr, type Child, h } from '../dom';

/** Creates a panel under its heading, with `bar` next to the heading. */
export function section(name: string, title: string, bar: Child[], ...children: Child[]): HTMLElement {
  const id = `${name}-title`;
  return h('section', { class: name, 'aria-labelledby': id }, h('div', { class: 'row wrap bar' }, h('h2', { id }, title), ...bar), ...children);
}


/** Creates a table that scrolls if it is wider than its panel. */
export function table(about: string, name: string, headings: readonly HTMLElement[], body: HTMLElement): HTMLElement {
  const head = h('thead', {}, h('tr', {}, ...headings));
  return h('div', { class: `scroll ${name}-rows`, tabindex: 0, role: 'region', 'aria-label': about }, h('table', { class: `${name}-table` }, head, body));
}

export function heading(label: Child, numeric = false): HTMLElement {
  return h('th', { scope: 'col', class: numeric ? 'num' : null }, label);
}

/** Creates a row of buttons. */
export function segments(about: string, ...buttons: HTMLElement[]): HTMLElement {
  return h('div', { class: 'segments', role: 'group', 'aria-label': about }, ...buttons);
}

/** Buttons of which exactly one is chosen. */
export class Choice<T> {
  readonly element: HTMLElement;
  private readonly buttons: [T, HTMLElement][];

  constructor(about: string, options: readonly (readonly [T, string])[], choose: (value: T) => void) {
    this.buttons = options.map(([value, label]) => [value, h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => choose(value) }, label)]);
    this.element = segments(about, ...this.buttons.map(([, b]) => b));
  }

  show(chosen: T | null): void {
    for (const [value, b] of this.buttons) attr(b, 'aria-pressed', String(value === chosen));
  }
}

/** Creates a small button whose label is a sign. */
export function nudge(sign: string, words: string, onclick: () => void): HTMLElement {
  return h('button', { type: 'button', class: 'nudge', 'aria-label': words, title: words, onclick }, sign);
}

/** Shows commands, which are in backquotes, as code. */
export function coded(words: string): (HTMLElement | string)[] {
  return words.split('`').map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));
}
