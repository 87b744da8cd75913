// SPDX-License-Identifier: Apache-2.0
// Named spans of the port shown, with the estimates over each. A click holds the span in the
// charts.

import { attr, h, keyed, text } from '../dom';
import { formatSize, milliseconds, MISSING, percent, significant } from '../format/units';
import { sameLink } from '../model/links';
import type { Link, Phase, PhaseLink } from '../model/types';
import type { Actions, Panel, Snapshot } from './panel';
import { heading, section, table } from './parts';
import { term } from './terms';

interface Row {
  phase: Phase;
  at: PhaseLink;
}

/** Returns the phases that a port has. */
export function phasesOf(phases: readonly Phase[], link: Link | null): Row[] {
  return phases.flatMap((phase) => {
    const at = phase.links.find((l) => sameLink(l, link));
    return at ? [{ phase, at }] : [];
  });
}

export class Phases implements Panel {
  readonly element: HTMLElement;
  private readonly body = h('tbody');

  constructor(private readonly actions: Actions) {
    const head = ['Limit', 'Utilisation', 'Loss', 'Delay p99', term('N_b'), 'Advised'].map((label) => heading(label, true));
    this.element = section('phases', 'Phases', [], table('Table of phases', 'overview', [heading('Phase'), heading('Span'), ...head], this.body));
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
    const { from, to } = r.at;
    const onclick = (): void => this.actions.hold(from, to ?? from);
    const button = h('button', { type: 'button', class: 'quiet', disabled: to === null, onclick }, r.phase.name);
    return h('tr', {}, h('td', {}, button), h('td'), ...Array.from({ length: 6 }, () => h('td', { class: 'num' })));
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
