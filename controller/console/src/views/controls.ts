// SPDX-License-Identifier: Apache-2.0
// Which span the recorder shows: a live window, or a held one, moved and zoomed.

import { attr, h, text } from '../dom';
import type { Actions } from './panel';

export const WINDOWS = [10, 30, 120] as const;

export interface ControlsState {
  from: number;
  to: number;
  /** Width of the live window, seconds. */
  window: number;
  held: boolean;
  /** A run that goes on no more. */
  finished: boolean;
}

export type ControlsActions = Pick<Actions, 'setWindow' | 'hold' | 'follow'>;

/** A span from another. */
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
  private readonly windowButtons = new Map<number, HTMLButtonElement>();
  private readonly windows = h('div', { class: 'segments', role: 'group', 'aria-label': 'Span shown' });
  private readonly holdButton = h('button', { type: 'button', class: 'hold' }, 'Hold');
  private state: ControlsState | null = null;

  constructor(private readonly actions: ControlsActions) {
    for (const s of WINDOWS) {
      const b = h('button', { type: 'button', 'aria-pressed': 'false' }, `${s} s`);
      b.addEventListener('click', () => actions.setWindow(s));
      this.windowButtons.set(s, b);
      this.windows.append(b);
    }
    this.holdButton.addEventListener('click', () => {
      const s = this.state;
      if (!s) return;
      if (s.held || s.finished) actions.follow();
      else actions.hold(s.from, s.to);
    });
    const steps = h(
      'div',
      { class: 'segments', role: 'group', 'aria-label': 'Move and zoom' },
      this.nudge('←', 'Earlier', shift(-0.5)),
      this.nudge('→', 'Later', shift(0.5)),
      this.nudge('+', 'Zoom in', zoom(0.4)),
      this.nudge('−', 'Zoom out', zoom(2.5)),
    );
    this.element.append(this.windows, steps, this.holdButton);
  }

  update(s: ControlsState): void {
    this.state = s;
    for (const [w, b] of this.windowButtons) attr(b, 'aria-pressed', !s.held && w === s.window ? 'true' : 'false');
    text(this.holdButton, s.finished ? 'Whole run' : s.held ? 'Back to live' : 'Hold');
    attr(this.windows, 'hidden', s.finished);
    attr(this.holdButton, 'data-active', s.held);
  }

  private nudge(label: string, words: string, change: Change): HTMLButtonElement {
    const b = h('button', { type: 'button', class: 'nudge', 'aria-label': words, title: words }, label);
    b.addEventListener('click', () => {
      const s = this.state;
      if (s) this.actions.hold(...change(s.from, s.to));
    });
    return b;
  }
}
