// SPDX-License-Identifier: Apache-2.0
// One line saying whether the numbers below can be trusted.

import { attr, h, text } from '../dom';
import { count, MISSING, percent } from '../format/units';
import type { Freshness } from '../model/freshness';
import type { Status } from '../model/types';
import type { Panel, Snapshot } from './panel';

interface Cell {
  root: HTMLElement;
  value: HTMLElement;
}

const CELLS = [
  ['received', 'reports received', 'Reports that reached the collector'],
  ['lost', 'lost', 'Reports missing between switch and collector, from gaps in their sequence numbers'],
  ['malformed', 'malformed', 'Datagrams that were not valid reports'],
  ['kernel', 'socket drops', 'Datagrams the collector’s kernel dropped because its socket was full'],
  ['samples', 'tcp_probe samples', 'Samples of the senders’ TCP state'],
  ['samplesLost', 'samples lost', 'Samples the kernel’s ring buffers could not hold'],
  ['joined', 'packets joined', 'Data packets of probed flows matched with the sender’s state when they left it'],
] as const;

type Name = (typeof CELLS)[number][0];

/** Below this share of joined packets the windows shown are not all of them. */
const JOIN_GOOD = 0.95;

export class Health implements Panel {
  readonly element: HTMLElement;
  private readonly headline = h('strong', { class: 'state-word' });
  private readonly detail = h('span', { class: 'soft state-detail' });
  private readonly cells = new Map<Name, Cell>();

  constructor() {
    const list = h('dl', { class: 'counters' });
    for (const [name, label, title] of CELLS) {
      const value = h('dd', {}, MISSING);
      const root = h('div', { title }, h('dt', {}, label), value);
      this.cells.set(name, { root, value });
      list.append(root);
    }
    this.element = h(
      'section',
      { class: 'health', 'aria-label': 'State of the measurement', 'data-level': 'waiting' },
      h('p', { class: 'row state', role: 'status' }, h('span', { class: 'lamp', 'aria-hidden': 'true' }), this.headline, this.detail),
      list,
    );
  }

  update(s: Snapshot): void {
    this.tick(s.fresh, s.status);
  }

  tick(fresh: Freshness, status: Status | null): void {
    attr(this.element, 'data-level', fresh.level);
    text(this.headline, fresh.headline);
    text(this.detail, fresh.detail);
    if (!status) return;
    this.set('received', count(status.reportsReceived), false);
    this.set('lost', count(status.reportsLost), (status.reportsLost ?? 0) > 0);
    this.set('malformed', count(status.malformed), (status.malformed ?? 0) > 0);
    this.set('kernel', count(status.kernelDrops), (status.kernelDrops ?? 0) > 0);
    this.set('samples', count(status.probeSamples), false);
    this.set('samplesLost', count(status.probeLost), (status.probeLost ?? 0) > 0);
    const candidates = status.joinCandidates ?? 0;
    const share = candidates > 0 && status.joinMatched !== null ? status.joinMatched / candidates : null;
    this.set('joined', percent(share), share !== null && share < JOIN_GOOD);
  }

  private set(name: Name, value: string, bad: boolean): void {
    const c = this.cells.get(name);
    if (!c) return;
    text(c.value, value);
    attr(c.root, 'data-bad', bad);
  }
}
