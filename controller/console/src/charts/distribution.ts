// SPDX-License-Identifier: Apache-2.0
// Distribution of the occupancy beside the chart over time, on the same
// vertical axis.

import { attr, h, svg, text } from '../dom';
import type { Distribution } from '../model/types';
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
  private readonly marks = {
    p50: svg('text', { class: 'marginal-mark', 'text-anchor': 'end' }, 'p50'),
    p99: svg('text', { class: 'marginal-mark', 'text-anchor': 'end' }, 'p99'),
  };
  private readonly lines = {
    p50: svg('line', { class: 'marginal-line', x1: 0 }),
    p99: svg('line', { class: 'marginal-line', x1: 0 }),
  };
  private readonly scaleEnd = svg('text', { class: 'marginal-tick', 'text-anchor': 'end' });
  private readonly scaleZero = svg('text', { class: 'marginal-tick', x: 0 }, '0');
  private readonly caption = svg('text', { class: 'marginal-tick', 'text-anchor': 'middle' }, );
  private readonly spoken = h('p', { class: 'visually-hidden' });
  private frame: DistributionFrame = { maxBytes: 1, top: 8, height: 290 };
  private data: Distribution | null = null;
  private limitBytes: number | null = null;

  private width = 190;

  constructor() {
    this.picture.append(
      this.bars,
      this.lines.p50,
      this.lines.p99,
      this.limit,
      this.axis,
      this.baseline,
      this.marks.p50,
      this.marks.p99,
      this.scaleZero,
      this.scaleEnd,
      this.caption,
    );
    this.element = h('div', { class: 'marginal-box' }, this.picture, this.spoken);
    new ResizeObserver(() => {
      const w = this.element.clientWidth;
      if (w < 40 || w === this.width) return;
      this.width = w;
      this.render();
    }).observe(this.element);
  }

  setFrame(frame: DistributionFrame): void {
    const f = this.frame;
    if (f.maxBytes === frame.maxBytes && f.top === frame.top && f.height === frame.height) return;
    this.frame = frame;
    this.render();
  }

  set(data: Distribution | null, limitBytes: number | null, words: string): void {
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
    for (const l of [this.lines.p50, this.lines.p99]) attr(l, 'x2', right - 26);
    for (const t of [this.marks.p50, this.marks.p99, this.scaleEnd]) attr(t, 'x', right);
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
    this.place(this.lines.p50, d?.p50 ?? null);
    this.place(this.lines.p99, d?.p99 ?? null);
    this.placeText('p99', d?.p99 ?? null);
    // Two labels on one another say nothing: the median gives way.
    const apart = d?.p50 != null && d.p99 != null && this.y(d.p50) - this.y(d.p99) >= 13;
    this.placeText('p50', apart ? d.p50 : null);
    const peak = d ? d.bins.reduce((m, b) => Math.max(m, b.share), 0) : 0;
    const usable = right;
    const full = peak > 0 ? Math.ceil(peak * 20) / 20 : 1;
    text(this.scaleEnd, peak > 0 ? String(Math.round(full * 100)) : '');
    const path =
      d && peak > 0
        ? d.bins
            .filter((b) => b.share > 0)
            .map((b) => {
              const y1 = this.y(b.lowBytes);
              const y2 = this.y(b.highBytes);
              const w = Math.max(0.75, (b.share / full) * usable);
              return `M0 ${y1.toFixed(1)}H${w.toFixed(1)}V${y2.toFixed(1)}H0Z`;
            })
            .join('')
        : '';
    attr(this.bars, 'd', path);
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

  private placeText(name: 'p50' | 'p99', bytes: number | null): void {
    const e = this.marks[name];
    attr(e, 'visibility', bytes === null ? 'hidden' : 'visible');
    if (bytes !== null) attr(e, 'y', (this.y(bytes) + 4).toFixed(1));
  }
}
