// SPDX-License-Identifier: Apache-2.0
// The verdict's picture, and a limit that can be moved over it, with the expected outcome there in
// words.

import { attr, h, text, variable } from '../dom';
import { formatSize, milliseconds, MISSING, percent } from '../format/units';
import { limitAt, outcomeAt, part } from '../model/outlook';
import type { Interval, Prediction, Targets } from '../model/types';
import type { Snapshot } from './panel';
import { saveMenu } from './save';
import { type LimitAxis, VerdictDrawing } from './verdict-drawing';

/** Number of positions of the limit across the picture. */
const PLACES = 400;

interface Part {
  /** Text before the value. */
  words: string;
  format: (v: number) => string;
  of: (p: Prediction) => Interval | null;
  missed: (v: number, t: Targets) => boolean;
}

const PARTS: readonly Part[] = [
  { words: 'utilisation', format: percent, of: (p) => p.utilisation, missed: (v, t) => t.utilisation !== null && v < t.utilisation },
  { words: 'loss', format: percent, of: (p) => p.lossRate, missed: (v, t) => t.lossRate !== null && v > t.lossRate },
  { words: 'delay up to', format: milliseconds, of: (p) => p.delayMs, missed: (v, t) => t.delayMs !== null && v > t.delayMs },
];

/** Formats a value with its range, if the range is large enough to show. */
function ranged(i: Interval, f: (v: number) => string): [string, string] {
  return [f(i.value), f(i.low) === f(i.high) ? '' : `${f(i.low)} to ${f(i.high)}`];
}

export class VerdictPicture {
  readonly element: HTMLElement;
  private readonly drawing = new VerdictDrawing((a) => this.place(a));
  private readonly slider: HTMLInputElement;
  private readonly stage: HTMLElement;
  private readonly empty = h('p', { class: 'empty' }, 'Nothing can be expected of other limits yet.');
  private readonly size = h('b', {}, MISSING);
  private readonly values = PARTS.map(({ words }) => ({ words, value: h('b', {}, MISSING), range: h('small') }));
  private readonly back: HTMLButtonElement;
  private readonly reading: HTMLElement;
  /** The limit moved to, bytes; null for the limit to set. */
  private moved: number | null = null;
  private state: Snapshot | null = null;
  private limits: readonly [number, number] = [1, 2];

  constructor() {
    this.slider = h('input', { type: 'range', class: 'limit-slider', min: 0, max: PLACES, step: 1, 'aria-label': 'Limit to look at', oninput: () => this.move() });
    this.back = h('button', { type: 'button', class: 'quiet small', hidden: true, onclick: () => this.reset() }, 'Back');
    this.stage = h('div', { class: 'verdict-stage' }, this.drawing.element, this.slider, saveMenu(this.drawing));
    const values = this.values.map(({ words, value, range }) => h('span', { class: 'outcome-part' }, `${words} `, value, ' ', range));
    this.reading = h('p', { class: 'verdict-at' }, h('span', { class: 'outcome-part' }, 'At ', this.size, ':'), ...values, this.back);
    this.element = h('figure', { id: 'verdict-picture', class: 'verdict-picture' }, this.empty, this.stage, h('figcaption', {}, this.reading));
  }

  /** Resets the limit to the one to set, for another port. */
  reset(): void {
    this.moved = null;
    this.show();
  }

  update(s: Snapshot): void {
    this.state = s;
    this.drawing.set(s.link, s.verdict?.curve ?? []);
    const none = this.drawing.empty();
    attr(this.empty, 'hidden', !none);
    for (const e of [this.stage, this.reading]) attr(e, 'data-empty', none);
    this.show();
  }

  private place(axis: LimitAxis | null): void {
    attr(this.slider, 'disabled', axis === null);
    if (!axis) return;
    this.limits = axis.limits;
    for (const side of ['left', 'width', 'top', 'height'] as const) variable(this.stage, `--${side}`, `${axis[side]}px`);
    this.show();
  }

  private move(): void {
    this.moved = limitAt(this.limits, Number(this.slider.value) / PLACES);
    this.show();
  }

  /** Shows the current limit, and the expected outcome there. */
  private show(): void {
    const s = this.state;
    const v = s?.verdict;
    const bytes = this.moved ?? v?.setBytes ?? v?.inForceBytes ?? null;
    attr(this.back, 'hidden', this.moved === null);
    if (!s || !v || bytes === null) return;
    const place = String(Math.round(PLACES * Math.min(1, Math.max(0, part(this.limits, bytes)))));
    if (this.slider.value !== place) this.slider.value = place;
    const outcome = outcomeAt(v.curve, bytes);
    const size = formatSize(s.unit, bytes, s.context);
    text(this.size, size);
    const words = PARTS.map(({ words, format, of, missed }, i) => {
      const expected = outcome && of(outcome);
      const [value, range] = expected ? ranged(expected, format) : [MISSING, ''];
      const shown = this.values[i];
      if (shown) {
        text(shown.value, value);
        text(shown.range, range && `(${range})`);
        const targets = s.link?.targets;
        attr(shown.value, 'data-bad', expected != null && targets != null && missed(expected.value, targets));
      }
      return `${words} ${value}`;
    });
    attr(this.slider, 'aria-valuetext', `at ${size}: ${words.join(', ')}`);
  }
}
