// SPDX-License-Identifier: Apache-2.0
// Distribution of the occupancy beside the chart over time, on the same
// vertical axis.

import { h, text } from '../dom';
import type { Distribution, DistributionBin } from '../model/types';
import { type Stroke, SvgPen } from './pen';
import type { Picture } from './picture';
import { ink, onTheme } from './theme';

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
  private readonly picture = h('div', { class: 'marginal', 'aria-hidden': 'true' });
  private readonly spoken = h('p', { class: 'visually-hidden' });
  private frame: DistributionFrame = { maxBytes: 1, top: 8, height: 290 };
  private data: Distribution | null = null;
  private limitBytes: number | null = null;
  private width = 190;

  constructor() {
    this.element = h('div', { class: 'marginal-box' }, this.picture, this.spoken);
    new ResizeObserver(() => {
      const w = this.element.clientWidth;
      if (w < 40 || w === this.width) return;
      this.width = w;
      this.render();
    }).observe(this.element);
    onTheme(() => this.render());
  }

  set(frame: DistributionFrame, data: Distribution | null, limitBytes: number | null, words: string): void {
    this.frame = frame;
    this.data = data;
    this.limitBytes = limitBytes;
    text(this.spoken, words);
    this.render();
  }

  private render(): void {
    // The pen escapes its texts, and no script of a parsed document runs.
    this.picture.replaceChildren(new DOMParser().parseFromString(this.svg(), 'image/svg+xml').documentElement);
  }

  svg(): string {
    const { top, height, maxBytes } = this.frame;
    const [right, bottom] = [this.width - MARGIN, top + height];
    const [soft, rule] = [ink('ink-soft'), ink('rule-strong')];
    const y = (bytes: number): number => top + height * (1 - Math.min(1, bytes / maxBytes));
    const pen = new SvgPen();
    const bins = this.data?.bins.filter((b) => b.share > 0) ?? [];
    const peak = Math.max(0, ...bins.map((b) => b.share));
    const full = peak > 0 ? Math.ceil(peak * 20) / 20 : 1;
    const bar = (b: DistributionBin): string => {
      const w = Math.max(0.75, (b.share / full) * right);
      return `M0 ${y(b.lowBytes).toFixed(1)}H${w.toFixed(1)}V${y(b.highBytes).toFixed(1)}H0Z`;
    };
    pen.fill(bins.map(bar).join(''), ink('water'), 0.7);
    const across = (bytes: number | null, to: number, stroke: Stroke): void => {
      // Beyond the scale there is no place for it.
      if (bytes !== null && bytes <= maxBytes) pen.segments([0, y(bytes), to, y(bytes)], stroke);
    };
    const { p50 = null, p99 = null } = this.data ?? {};
    for (const bytes of [p50, p99]) across(bytes, right - 26, { colour: soft, width: 1, dash: [1, 3] });
    across(this.limitBytes, right, { colour: ink('limit'), width: 1.75, dash: [7, 4] });
    pen.segments([0.5, top, 0.5, bottom, 0, bottom, right, bottom], { colour: rule, width: 1 });
    // Two labels on one another say nothing: the median gives way.
    if (p50 !== null && p99 !== null && y(p50) - y(p99) >= 13) pen.text(right, y(p50) + 4, 'p50', 'end', soft);
    if (p99 !== null) pen.text(right, y(p99) + 4, 'p99', 'end', soft);
    pen.text(0, bottom + 14, '0', 'start', soft);
    if (peak > 0) pen.text(right, bottom + 14, String(Math.round(full * 100)), 'end', soft);
    pen.text(right / 2, bottom + 29, this.width > 150 ? 'share of arrivals, %' : 'arrivals, %', 'middle', soft);
    return pen.file(this.name, this.width, bottom + BOTTOM);
  }

  csv(): string {
    const rows = (this.data?.bins ?? []).map((b) => `${b.lowBytes},${b.highBytes},${b.share}`);
    return `${['low_bytes,high_bytes,share', ...rows].join('\n')}\n`;
  }
}
