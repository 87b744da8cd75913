// SPDX-License-Identifier: Apache-2.0
// Whether the buffer is too big, fine or too small, before all else.

import { attr, h, prose, text } from '../dom';
import { formatSize } from '../format/units';
import { verdictLine } from '../model/verdict';
import type { Panel, Snapshot } from './panel';

export class VerdictView implements Panel {
  private readonly line = h('p', { class: 'verdict-line', role: 'status', 'aria-live': 'polite' });
  // Its figures move every second: not read aloud.
  private readonly because = h('p', { class: 'soft kept' });
  readonly element = h('section', { class: 'verdict', 'aria-label': 'Verdict' }, this.line, this.because);

  update(s: Snapshot): void {
    const v = s.link?.verdict ?? null;
    attr(this.element, 'data-answer', v?.answer);
    text(this.line, verdictLine(v, (b) => formatSize(s.unit, b, s.context)));
    prose(this.because, v?.because ?? '');
  }
}
