// SPDX-License-Identifier: Apache-2.0
// Named spans of the port shown, each with what was estimated over it. A click
// holds the span in the charts.

import { attr, h, keyed, text } from '../dom';
import { formatSize, milliseconds, MISSING, percent, significant } from '../format/units';
import type { Link, Phase, PhaseLink } from '../model/types';
import type { Actions, MakePanel, Snapshot } from './panel';

const COLUMNS = ['Phase', 'Span', 'Limit', 'Utilisation', 'Loss', 'Delay p99', 'N_b', 'Advised'] as const;

interface Row {
  phase: Phase;
  at: PhaseLink;
}

/** The phases that a port has. */
export function phasesOf(phases: readonly Phase[], link: Link | null): Row[] {
  return phases.flatMap((phase) => {
    const at = phase.links.find((l) => l.node === link?.node && l.port === link?.port);
    return at ? [{ phase, at }] : [];
  });
}

export class Phases {
  readonly element: HTMLElement;
  private readonly body = h('tbody');

  constructor(private readonly actions: Pick<Actions, 'hold'>) {
    const head = COLUMNS.map((c, i) => h('th', { scope: 'col', class: i > 1 ? 'num' : null }, c === 'N_b' ? h('var', { class: 'symbol' }, 'N', h('sub', {}, 'b')) : c));
    this.element = h(
      'section',
      { class: 'overview phases', 'aria-labelledby': 'phases-title', hidden: true },
      h('div', { class: 'bar' }, h('h2', { id: 'phases-title' }, 'Phases')),
      h(
        'div',
        { class: 'scroll overview-rows', tabindex: 0, role: 'region', 'aria-label': 'Table of phases' },
        h('table', { class: 'overview-table' }, h('thead', {}, h('tr', {}, ...head)), this.body),
      ),
    );
  }

  update(s: Snapshot): void {
    const rows = phasesOf(s.phases, s.link);
    attr(this.element, 'hidden', rows.length === 0);
    keyed(
      this.body,
      rows,
      (r) => `${r.phase.name} ${r.at.from}`,
      (r) => this.row(r),
      (tr, r) => show(tr, r, s),
    );
  }

  private row(r: Row): HTMLElement {
    const button = h('button', { type: 'button', class: 'quiet' }, r.phase.name);
    const { from, to } = r.at;
    if (to === null) attr(button, 'disabled', true);
    else button.addEventListener('click', () => this.actions.hold(from, to));
    return h('tr', {}, h('td', {}, button), h('td'), ...COLUMNS.slice(2).map(() => h('td', { class: 'num' })));
  }
}

function show(tr: Element, { phase, at }: Row, s: Snapshot): void {
  const cells = Array.from(tr.children).slice(1);
  const end = at.to === null ? (phase.running ? 'now' : '…') : `${at.to.toFixed(1)} s`;
  const values = [
    `${at.from.toFixed(1)} s to ${end}`,
    formatSize(s.unit, at.limitBytes, s.context),
    percent(at.utilisation),
    percent(at.lossRate),
    milliseconds(at.delayP99Ms),
    at.nB === null ? MISSING : significant(at.nB, 3),
    formatSize(s.unit, at.advisedBytes, s.context),
  ];
  cells.forEach((c, i) => {
    text(c, values[i] ?? '');
  });
  attr(tr, 'title', at.incomplete || null);
}

export const phasesPanel: MakePanel = (actions) => {
  const view = new Phases(actions);
  return { element: view.element, update: (s) => view.update(s) };
};
