// SPDX-License-Identifier: Apache-2.0
// The verdict on the buffer, at the top: answer, reason, the limits that serve, the one to set, and
// the picture.

import { attr, h, text } from '../dom';
import { formatSize, MISSING, type SizeUnit } from '../format/units';
import { answerWord, chanceText, evidenceText, verdictLine } from '../model/verdict';
import type { Panel, Snapshot } from './panel';
import { linked } from './terms';
import { VerdictPicture } from './verdict-picture';

const FIGURES = [
  ['in-force', 'In force'],
  ['advised', 'Limits that serve'],
  ['set', 'To set'],
] as const;
type Figure = (typeof FIGURES)[number][0];

export class VerdictView implements Panel {
  readonly element: HTMLElement;
  private readonly answer = h('span', { class: 'verdict-answer' });
  /** Read aloud instead of the figures, which move every second. */
  private readonly line = h('p', { class: 'visually-hidden verdict-line', role: 'status', 'aria-live': 'polite' });
  private readonly because = h('p', { class: 'verdict-because' });
  private readonly figures = new Map<Figure, { value: HTMLElement; note: HTMLElement }>();
  private readonly evidence = h('p', { class: 'soft small verdict-evidence' });
  private readonly more: HTMLButtonElement;
  private readonly picture = new VerdictPicture();

  constructor() {
    const list = h('dl', { class: 'verdict-figures' });
    for (const [name, label] of FIGURES) {
      const [value, note] = [h('b', {}, MISSING), h('small')];
      this.figures.set(name, { value, note });
      list.append(h('div', { class: `figure-${name}` }, h('dt', {}, label), h('dd', {}, value, note)));
    }
    this.more = h('button', { type: 'button', class: 'quiet verdict-more', onclick: () => showAdvice() }, 'Reasons and apply');
    this.element = h(
      'section',
      { class: 'verdict', 'aria-labelledby': 'verdict-title' },
      h('div', { class: 'verdict-words' }, h('h2', { id: 'verdict-title' }, h('span', { class: 'soft small' }, 'Buffer '), this.answer), this.line, this.because, list, this.evidence, this.more),
      this.picture.element,
    );
  }

  update(s: Snapshot): void {
    const v = s.verdict;
    attr(this.element, 'data-answer', v?.answer);
    const size = (b: number | null): string => formatSize(s.unit, b, s.context);
    text(this.answer, answerWord(v?.answer));
    text(this.line, verdictLine(v, size));
    linked(this.because, v ? sentence(v.because) : '');
    const others: SizeUnit[] = (['bytes', 'packets', 'ms'] as const).filter((u) => u !== s.unit);
    const elsewhere = (b: number | null): string => (b === null ? '' : others.map((u) => formatSize(u, b, s.context)).join(', '));
    const [low, high, set] = [v?.lowBytes ?? null, v?.highBytes ?? null, v?.setBytes ?? null];
    const keep = v?.answer === 'fine';
    this.put('in-force', size(v?.inForceBytes ?? s.limit), elsewhere(v?.inForceBytes ?? s.limit));
    this.put('advised', low === null || high === null ? MISSING : interval(size(low), size(high)), '');
    const chance = v?.chance == null ? '' : `${chanceText(v.chance)} chance to meet the targets`;
    this.put('set', keep ? 'keep it' : size(set), v?.towardsBytes == null ? chance : `a step towards ${size(v.towardsBytes)}`);
    text(this.evidence, v ? evidenceText(v) : '');
    this.picture.update(s);
  }

  reset(): void {
    this.picture.reset();
  }

  private put(name: Figure, value: string, note: string): void {
    const f = this.figures.get(name);
    if (!f) return;
    text(f.value, value);
    text(f.note, note);
  }
}

/** Formats two sizes; a unit that both share is written once. */
function interval(low: string, high: string): string {
  const [, number, unit] = /^(\S+) (.+)$/.exec(low) ?? [];
  return `${unit !== undefined && high.endsWith(` ${unit}`) ? number : low} to ${high}`;
}

function sentence(words: string): string {
  return words === '' ? '' : `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

function showAdvice(): void {
  document.querySelector('.advice')?.scrollIntoView({ block: 'start', behavior: 'smooth' });
}
