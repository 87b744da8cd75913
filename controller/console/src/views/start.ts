// SPDX-License-Identifier: Apache-2.0
// Shown instead of all panels while there is no port: the controller's findings, as in `doctor`,
// with what to do about each.

import { get } from '../api/client';
import type { Finding } from '../api/generated';
import { attr, h, keyed, text } from '../dom';
import type { Panel, Snapshot } from './panel';
import { coded, section } from './parts';
import { docs } from './terms';

const WORDS: Record<Finding['verdict'], string> = { ok: 'ok', warning: 'could be better', problem: 'look here' };
/** Pause between two requests, ms. */
const PATIENCE_MS = 2000;

export class Start implements Panel {
  readonly element: HTMLElement;
  private readonly list = h('ol', { class: 'checks' });
  private askedMs = 0;

  constructor() {
    const more = h('p', { class: 'soft' }, ...coded('`tidemark collector doctor` and `tidemark controller doctor` check more on their hosts. Without a switch, `tidemark demo --replay` shows a recorded run. '), docs('how-to/troubleshooting.html', 'Troubleshooting', 'Find out what is wrong, step by step'));
    this.element = section('start', 'No port has reported yet', [], h('p', { class: 'soft' }, 'The page shows a port as soon as its first packet is reported. Until then, check:'), this.list, more);
  }

  update(s: Snapshot): void {
    attr(this.element, 'hidden', s.link !== null || s.status === null || s.finished);
    if (!s.status || s.link || s.finished || performance.now() - this.askedMs < PATIENCE_MS) return;
    this.askedMs = performance.now();
    // The state of the connection is shown at the top.
    get('/findings', {}, {}).then((a) => this.show(a.findings), () => {});
  }

  private show(findings: readonly Finding[]): void {
    keyed(
      this.list,
      findings,
      (f) => f.check,
      () => h('li', {}, h('div', { class: 'row wrap check' }, h('span', { class: 'check-state' }), h('b'), h('span', { class: 'check-found' })), h('p', { class: 'soft small' })),
      (li, f) => {
        attr(li, 'data-verdict', f.verdict);
        const [state, check, found] = Array.from(li.firstElementChild?.children ?? []);
        if (state) text(state, WORDS[f.verdict]);
        if (check) text(check, f.check);
        if (found) text(found, f.found);
        const remedy = li.lastElementChild;
        if (remedy && remedy.textContent !== (f.remedy ?? '').replaceAll('`', '')) remedy.replaceChildren(...coded(f.remedy ?? ''));
      },
    );
  }
}
