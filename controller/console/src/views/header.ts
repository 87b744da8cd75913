// SPDX-License-Identifier: Apache-2.0
// Title, choice of the port, unit of sizes, theme.

import { onTheme, theme, toggleTheme } from '../charts/theme';
import { attr, h, keyed, svg, text } from '../dom';
import { bitRate, type SizeUnit } from '../format/units';
import { linkKey, linkTitle } from '../model/links';
import type { Actions, Panel, Snapshot } from './panel';
import { Choice } from './parts';
import { docs } from './terms';

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

export class Header implements Panel {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private readonly facts = h('p', { class: 'soft port-facts' });
  private readonly units: Choice<SizeUnit>;
  private readonly themeButton: HTMLButtonElement;

  constructor(actions: Actions) {
    this.select = h('select', { id: 'port', name: 'port', onchange: () => actions.selectLink(this.select.value) });
    this.units = new Choice('Unit of buffer sizes', UNITS, actions.selectUnit);
    this.themeButton = h('button', { type: 'button', class: 'quiet theme', onclick: toggleTheme });
    this.showTheme();
    onTheme(() => this.showTheme());
    this.element = h(
      'header',
      { class: 'row wrap masthead' },
      h('h1', { class: 'row' }, mark(), 'Tidemark'),
      h('div', { class: 'row wrap port-choice' }, h('label', { class: 'soft', for: 'port' }, 'Egress port'), this.select, this.facts),
      h('div', { class: 'row settings' }, this.units.element, docs('reference/console.html', 'Help', 'What this page shows'), this.themeButton),
    );
  }

  update({ overview, link: selected, unit }: Snapshot): void {
    keyed(
      this.select,
      overview,
      linkKey,
      (l) => h('option', { value: linkKey(l) }),
      (o, l) => text(o, linkTitle(l)),
    );
    attr(this.select, 'disabled', overview.length === 0);
    if (selected && this.select.value !== linkKey(selected)) this.select.value = linkKey(selected);
    text(this.facts, selected ? `C ${bitRate(selected.capacityBps)}` : 'waiting for the first port');
    this.units.show(unit);
  }

  private showTheme(): void {
    const dark = theme() === 'dark';
    text(this.themeButton, dark ? 'Light' : 'Dark');
    attr(this.themeButton, 'aria-label', dark ? 'Use the light theme' : 'Use the dark theme');
  }
}
