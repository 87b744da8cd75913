// SPDX-License-Identifier: Apache-2.0
// Distribution of the occupancy beside the chart over time, on the same
// vertical axis.

import { attr, h, svg, text } from '../dom';
import type { Distribution, DistributionBin } from '../model/types';
import type { Picture } from './picture';

/** Room right of the bars. */
const MARGIN = 8;
const BOTTOM = 34;

export interface DistributionFrame {
  maxBytes: number;
  top: number;
  height: number;
}

export class DistributionChart implements Picture {
  readonly name = 'Distribution of the occupancy';
  readonly element: HTMLElement;
  private readonly picture = svg('svg', { class: 'marginal', 'aria-hidden': 'true' });
  private readonly bars = svg('path', { class: 'marginal-bars' });
  private readonly axis = svg('line', { class: 'marginal-axis', x1: 0.5, x2: 0.5 });
  private readonly baseline = svg('line', { class: 'marginal-axis', x1: 0 });
  private readonly limit = svg('line', { class: 'mark-limit', x1: 0 });
  private readonly marks = ['p50', 'p99'].map((name) => svg('text', { class: 'marginal-mark', 'text-anchor': 'end' }, name));
  private readonly lines = this.marks.map(() => svg('line', { class: 'marginal-line', x1: 0 }));
  private readonly scaleEnd = svg('text', { class: 'marginal-tick', 'text-anchor': 'end' });
  private readonly scaleZero = svg('text', { class: 'marginal-tick', x: 0 }, '0');
  private readonly caption = svg('text', { class: 'marginal-tick', 'text-anchor': 'middle' });
  private readonly spoken = h('p', { class: 'visually-hidden' });
  private frame: DistributionFrame = { maxBytes: 1, top: 8, height: 290 };
  private data: Distribution | null = null;
  private limitBytes: number | null = null;
  private width = 190;

  constructor() {
    this.picture.append(this.bars, ...this.lines, this.limit, this.axis, this.baseline, ...this.marks, this.scaleZero, this.scaleEnd, this.caption);
    this.element = h('div', { class: 'marginal-box' }, this.picture, this.spoken);
    new ResizeObserver(() => {
      const w = this.element.clientWidth;
      if (w < 40 || w === this.width) return;
      this.width = w;
      this.render();
    }).observe(this.element);
  }

  set(frame: DistributionFrame, data: Distribution | null, limitBytes: number | null, words: string): void {
    this.frame = frame;
    this.data = data;
    this.limitBytes = limitBytes;
    text(this.spoken, words);
    this.render();
  }

  private y(bytes: number): number {
    const { top, height, maxBytes } = this.frame;
    return top + height * (1 - Math.min(1, bytes / maxBytes));
  }

  private render(): void {
    const { top, height } = this.frame;
    const bottom = top + height;
    const right = this.width - MARGIN;
    attr(this.picture, 'width', this.width);
    attr(this.picture, 'height', bottom + BOTTOM);
    for (const l of [this.baseline, this.limit]) attr(l, 'x2', right);
    for (const l of this.lines) attr(l, 'x2', right - 26);
    for (const t of [...this.marks, this.scaleEnd]) attr(t, 'x', right);
    attr(this.caption, 'x', right / 2);
    text(this.caption, this.width > 150 ? 'share of arrivals, %' : 'arrivals, %');
    attr(this.axis, 'y1', top);
    attr(this.axis, 'y2', bottom);
    for (const a of ['y1', 'y2']) attr(this.baseline, a, bottom);
    attr(this.scaleZero, 'y', bottom + 14);
    attr(this.scaleEnd, 'y', bottom + 14);
    attr(this.caption, 'y', bottom + 29);
    this.place(this.limit, this.limitBytes);
    const d = this.data;
    const values = [d?.p50 ?? null, d?.p99 ?? null] as const;
    this.lines.forEach((line, i) => {
      this.place(line, values[i] ?? null);
    });
    // Two labels on one another say nothing: the median gives way.
    const apart = values[0] !== null && values[1] !== null && this.y(values[0]) - this.y(values[1]) >= 13;
    this.marks.forEach((mark, i) => {
      const bytes = i === 0 && !apart ? null : (values[i] ?? null);
      attr(mark, 'visibility', bytes === null ? 'hidden' : 'visible');
      if (bytes !== null) attr(mark, 'y', (this.y(bytes) + 4).toFixed(1));
    });
    const bins = d?.bins.filter((b) => b.share > 0) ?? [];
    const peak = Math.max(0, ...bins.map((b) => b.share));
    const full = peak > 0 ? Math.ceil(peak * 20) / 20 : 1;
    text(this.scaleEnd, peak > 0 ? String(Math.round(full * 100)) : '');
    const bar = (b: DistributionBin): string => {
      const w = Math.max(0.75, (b.share / full) * right);
      return `M0 ${this.y(b.lowBytes).toFixed(1)}H${w.toFixed(1)}V${this.y(b.highBytes).toFixed(1)}H0Z`;
    };
    attr(this.bars, 'd', bins.map(bar).join(''));
  }

  csv(): string {
    const rows = (this.data?.bins ?? []).map((b) => `${b.lowBytes},${b.highBytes},${b.share}`);
    return `${['low_bytes,high_bytes,share', ...rows].join('\n')}\n`;
  }

  /** Styles of the page travel with it. */
  svg(): string {
    const copy = this.picture.cloneNode(true) as SVGElement;
    const shown = this.picture.querySelectorAll('*');
    copy.querySelectorAll('*').forEach((e, i) => {
      const from = shown[i];
      if (!from) return;
      const style = getComputedStyle(from);
      for (const p of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-family', 'font-size', 'visibility']) e.setAttribute(p, style.getPropertyValue(p));
    });
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    return `${copy.outerHTML}\n`;
  }

  private place(line: SVGLineElement, bytes: number | null): void {
    // Beyond the scale there is no place for it.
    const shown = bytes !== null && bytes <= this.frame.maxBytes;
    attr(line, 'visibility', shown ? 'visible' : 'hidden');
    if (!shown) return;
    const y = this.y(bytes).toFixed(1);
    attr(line, 'y1', y);
    attr(line, 'y2', y);
  }
}
