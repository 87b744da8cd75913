// SPDX-License-Identifier: Apache-2.0
// A mark that says whether the numbers below can be trusted; when opened, it shows the counters on
// which it is based.

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

/** Below this share of joined packets, some windows are missing. */
const JOIN_GOOD = 0.95;

export class Health implements Panel {
  readonly element: HTMLElement;
  private readonly headline = h('strong', { class: 'state-word' });
  private readonly spoken = h('p', { class: 'visually-hidden', role: 'status' });
  private readonly detail = h('span', { class: 'soft state-detail' });
  private readonly open = h('span', { class: 'soft small state-open' }, 'Counters');
  private readonly cells = new Map<Name, Cell>();

  constructor() {
    const list = h('dl', { class: 'counters' });
    for (const [name, label, title] of CELLS) {
      const value = h('dd', {}, MISSING);
      const root = h('div', {}, h('dt', {}, label, h('small', {}, title)), value);
      this.cells.set(name, { root, value });
      list.append(root);
    }
    const mark = h('summary', { class: 'row state' }, h('span', { class: 'lamp', 'aria-hidden': 'true' }), this.headline, this.detail, this.open);
    this.element = h('section', { class: 'health', 'aria-label': 'State of the measurement', 'data-level': 'waiting' }, this.spoken, h('details', {}, mark, list));
  }

  update(s: Snapshot): void {
    this.tick(s.fresh, s.status);
  }

  tick(fresh: Freshness, status: Status | null): void {
    attr(this.element, 'data-level', fresh.level);
    text(this.headline, fresh.headline);
    text(this.spoken, fresh.headline);
    text(this.detail, fresh.detail);
    if (!status) return;
    this.set('received', count(status.reportsReceived), false);
    const bad = [
      this.set('lost', count(status.reportsLost), (status.reportsLost ?? 0) > 0),
      this.set('malformed', count(status.malformed), (status.malformed ?? 0) > 0),
      this.set('kernel', count(status.kernelDrops), (status.kernelDrops ?? 0) > 0),
      this.set('samplesLost', count(status.probeLost), (status.probeLost ?? 0) > 0),
    ];
    this.set('samples', count(status.probeSamples), false);
    const candidates = status.joinCandidates ?? 0;
    const share = candidates > 0 && status.joinMatched !== null ? status.joinMatched / candidates : null;
    bad.push(this.set('joined', percent(share), share !== null && share < JOIN_GOOD));
    // Once losses are over, the word above no longer mentions them.
    const told = bad.filter(Boolean).length;
    text(this.open, told === 0 ? 'Counters' : `Counters: ${told} not as ${told === 1 ? 'it' : 'they'} should be`);
    attr(this.open, 'data-bad', told > 0);
  }

  private set(name: Name, value: string, bad: boolean): boolean {
    const c = this.cells.get(name);
    if (!c) return bad;
    text(c.value, value);
    attr(c.root, 'data-bad', bad);
    return bad;
  }
}
