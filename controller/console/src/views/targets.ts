// SPDX-License-Identifier: Apache-2.0
// The form in which the operator changes the targets of a port.

import { attr, h, text } from '../dom';
import type { Targets } from '../model/types';
import { asPercent, parseTargets } from '../model/targets';
import type { NewTargets } from './panel';

const ORDERS = [
  ['utilisation', 'loss', 'delay'],
  ['utilisation', 'delay', 'loss'],
  ['loss', 'utilisation', 'delay'],
  ['loss', 'delay', 'utilisation'],
  ['delay', 'utilisation', 'loss'],
  ['delay', 'loss', 'utilisation'],
] as const;

export class TargetsForm {
  readonly element: HTMLDetailsElement;
  private readonly utilisation = this.field('target-utilisation');
  private readonly loss = this.field('target-loss');
  private readonly delay = this.field('target-delay');
  private readonly confidence = this.field('target-confidence');
  private readonly margin = this.field('target-margin');
  private readonly order = h('select', { id: 'target-order' });
  private readonly error = h('p', { class: 'kept form-error', role: 'alert' });
  private shown: Targets | null = null;

  constructor(submit: (t: NewTargets) => void) {
    for (const o of ORDERS) this.order.append(h('option', { value: o.join(',') }, o.join(', ')));
    const row = (input: HTMLElement, label: string, unit: string): HTMLElement =>
      h('p', { class: 'field' }, h('label', { for: input.id }, label), h('span', {}, input, unit ? ` ${unit}` : null));
    const onsubmit = (e: Event): void => {
      e.preventDefault();
      const [utilisationPercent, lossPercent, delayMs] = [this.utilisation.value, this.loss.value, this.delay.value];
      const [confidencePercent, marginPercent] = [this.confidence.value, this.margin.value];
      const t = parseTargets({ utilisationPercent, lossPercent, delayMs, confidencePercent, marginPercent });
      text(this.error, typeof t === 'string' ? t : '');
      if (typeof t !== 'string') submit({ ...t, priority: this.order.value.split(',') });
    };
    const form = h(
      'form',
      { novalidate: true, onsubmit },
      row(this.utilisation, 'Utilisation at least', '%'),
      row(this.loss, 'Loss at most', '%'),
      row(this.delay, 'Delay at most', 'ms'),
      row(this.order, 'Kept first to last', ''),
      row(this.confidence, 'Met with a probability of', '%'),
      row(this.margin, 'Aim inside the bounds by', '%'),
      this.error,
      h('button', { type: 'submit' }, 'Set targets'),
    );
    this.element = h('details', { class: 'targets', ontoggle: () => this.fill() }, h('summary', { class: 'soft' }, 'Change the targets'), form);
  }

  /** Shows the targets in force; input in progress is left alone. */
  update(t: Targets | null): void {
    this.shown = t;
    if (!this.element.open) this.fill();
  }

  close(): void {
    this.element.open = false;
  }

  private fill(): void {
    const t = this.shown;
    attr(this.element, 'hidden', t === null);
    if (!t) return;
    this.utilisation.value = asPercent(t.utilisation);
    this.loss.value = asPercent(t.lossRate);
    this.delay.value = t.delayMs === null ? '' : String(t.delayMs);
    this.confidence.value = asPercent(t.confidence);
    this.margin.value = asPercent(t.margin);
    const rest = ['utilisation', 'loss', 'delay'].filter((g) => !t.priority.includes(g));
    this.order.value = [...t.priority, ...rest].join(',');
    text(this.error, '');
  }

  private field(id: string): HTMLInputElement {
    return h('input', { id, type: 'text', inputmode: 'decimal', size: 6, autocomplete: 'off' });
  }
}
