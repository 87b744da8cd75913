// SPDX-License-Identifier: Apache-2.0
// In the place of all panels while no port is there: what to check.

import { attr, h, keyed, text } from '../dom';
import { checks } from '../model/start';
import type { Panel, Snapshot } from './panel';
import { coded, section } from './parts';
import { docs } from './terms';

const WORDS = new Map<boolean | null, string>([
  [true, 'ok'],
  [false, 'look here'],
  [null, 'not known'],
]);

export class Start implements Panel {
  readonly element: HTMLElement;
  private readonly list = h('ol', { class: 'checks' });

  constructor() {
    const more = h('p', { class: 'soft' }, ...coded('`tidemark collector doctor` and `tidemark controller doctor` check all of this and name remedies. Without a switch, `tidemark demo --replay` shows a recorded run. '), docs('how-to/troubleshooting.html', 'Troubleshooting', 'Find out what is wrong, step by step'));
    this.element = section('start', 'No port has reported yet', [], h('p', { class: 'soft' }, 'The page shows a port as soon as its first packet is reported. Until then, check:'), this.list, more);
  }

  update(s: Snapshot): void {
    attr(this.element, 'hidden', s.link !== null || s.status === null || s.finished);
    if (!s.status || s.link) return;
    keyed(
      this.list,
      checks(s.status),
      (c) => c.name,
      (c) => h('li', {}, h('div', { class: 'row wrap check' }, h('span', { class: 'check-state' }), h('b', {}, c.name), h('span', { class: 'check-found' })), h('p', { class: 'soft small' }, ...coded(c.look))),
      (li, c) => {
        attr(li, 'data-ok', c.ok === null ? 'unknown' : c.ok ? 'yes' : 'no');
        const [state, , found] = Array.from(li.firstElementChild?.children ?? []);
        if (state) text(state, WORDS.get(c.ok) ?? '');
        if (found) text(found, c.found);
      },
    );
  }
}
