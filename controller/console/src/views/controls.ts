// SPDX-License-Identifier: Apache-2.0
// Controls of the span that the recorder shows: a live window, or a held one, moved and zoomed.

import { attr, h, text } from '../dom';
import type { Actions, Snapshot } from './panel';
import { Choice, nudge, segments } from './parts';

export const WINDOWS = [10, 30, 120] as const;

/** Derives a span from another one. */
type Change = (from: number, to: number) => [number, number];

function zoom(k: number): Change {
  return (from, to) => {
    const half = ((to - from) * k) / 2;
    const middle = (from + to) / 2;
    return [Math.max(0, middle - half), middle + half];
  };
}

function shift(k: number): Change {
  return (from, to) => {
    const by = Math.max(-from, (to - from) * k);
    return [from + by, to + by];
  };
}

export class Controls {
  readonly element = h('div', { class: 'controls' });
  private readonly windows: Choice<number>;
  private readonly holdButton = h('button', { type: 'button', class: 'hold', onclick: () => this.holdOrFollow() }, 'Hold');
  private state: Snapshot | null = null;

  constructor(private readonly actions: Actions) {
    this.windows = new Choice('Span shown', WINDOWS.map((s) => [s, `${s} s`] as const), actions.setWindow);
    const step = (sign: string, words: string, change: Change): HTMLElement =>
      nudge(sign, words, () => {
        const s = this.state?.shown;
        if (s) actions.hold(...change(s.from, s.to));
      });
    const steps = segments(
      'Move and zoom',
      step('←', 'Earlier', shift(-0.5)),
      step('→', 'Later', shift(0.5)),
      step('+', 'Zoom in', zoom(0.4)),
      step('−', 'Zoom out', zoom(2.5)),
    );
    this.element.append(this.windows.element, steps, this.holdButton);
  }

  update(s: Snapshot): void {
    this.state = s;
    const { held, window } = s.shown;
    this.windows.show(held ? null : window);
    text(this.holdButton, s.finished ? 'Whole run' : held ? 'Back to live' : 'Hold');
    attr(this.windows.element, 'hidden', s.finished);
    attr(this.holdButton, 'data-active', held);
  }

  private holdOrFollow(): void {
    const s = this.state;
    if (!s) return;
    if (s.shown.held || s.finished) this.actions.follow();
    else this.actions.hold(s.shown.from, s.shown.to);
  }
}
