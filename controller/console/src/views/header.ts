// SPDX-License-Identifier: Apache-2.0
// Title, choice of the port, unit of sizes, theme.

import { onTheme, theme, toggleTheme } from '../charts/theme';
import { attr, h, keyed, svg, text } from '../dom';
import { bitRate, type SizeUnit } from '../format/units';
import { linkKey, linkTitle } from '../model/links';
import type { Brief, Link } from '../model/types';
import { docs } from './terms';
import type { MakePanel } from './panel';

export interface HeaderActions {
  selectLink: (key: string) => void;
  selectUnit: (unit: SizeUnit) => void;
}

const UNITS: readonly [SizeUnit, string][] = [
  ['bytes', 'bytes'],
  ['packets', 'packets'],
  ['ms', 'ms at C'],
];

function mark(): SVGElement {
  return svg(
    'svg',
    { class: 'mark', viewBox: '0 0 32 32', 'aria-hidden': 'true' },
    svg('path', { class: 'mark-water', d: 'M2 28V19c4-5 6-6 9-2s6 4 9-1 6-5 10-1v13z' }),
    svg('path', { class: 'mark-line', d: 'M2 9h28' }),
  );
}

export class Header {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly facts = h('p', { class: 'port-facts' });
  private readonly unitButtons = new Map<SizeUnit, HTMLButtonElement>();
  private readonly themeButton: HTMLButtonElement;

  constructor(actions: HeaderActions) {
    this.select = h('select', { id: 'port', name: 'port' });
    this.select.addEventListener('change', () => actions.selectLink(this.select.value));
    const units = h('div', { class: 'segments', role: 'group', 'aria-label': 'Unit of buffer sizes' });
    for (const [unit, label] of UNITS) {
      const b = h('button', { type: 'button', 'aria-pressed': 'false' }, label);
      b.addEventListener('click', () => actions.selectUnit(unit));
      this.unitButtons.set(unit, b);
      units.append(b);
    }
    this.themeButton = h('button', { type: 'button', class: 'quiet theme' });
    this.themeButton.addEventListener('click', () => {
      toggleTheme();
      this.showTheme();
    });
    this.showTheme();
    onTheme(() => this.showTheme());
    this.element = h(
      'header',
      { class: 'masthead' },
      h('h1', {}, mark(), 'Tidemark'),
      h('div', { class: 'port-choice' }, h('label', { for: 'port' }, 'Egress port'), this.select, this.facts),
      h('div', { class: 'settings' }, units, docs('reference/console.html', 'Help', 'What this page shows'), this.themeButton),
    );
  }

  update(links: readonly Brief[], selected: Link | null): void {
    keyed(
      this.select,
      links,
      linkKey,
      (l) => h('option', { value: linkKey(l) }),
      (o, l) => text(o, linkTitle(l)),
    );
    attr(this.select, 'disabled', links.length === 0);
    if (selected && this.select.value !== linkKey(selected)) this.select.value = linkKey(selected);
    text(this.facts, selected ? `C ${bitRate(selected.capacityBps)}` : 'waiting for the first port');
  }

  showUnit(unit: SizeUnit): void {
    for (const [u, b] of this.unitButtons) attr(b, 'aria-pressed', u === unit ? 'true' : 'false');
  }

  private showTheme(): void {
    const dark = theme() === 'dark';
    text(this.themeButton, dark ? 'Light' : 'Dark');
    attr(this.themeButton, 'aria-label', dark ? 'Use the light theme' : 'Use the dark theme');
  }
}

export const headerPanel: MakePanel = (actions) => {
  const view = new Header(actions);
  return {
    element: view.element,
    update: (s) => {
      view.update(s.overview, s.link);
      view.showUnit(s.unit);
    },
  };
};
