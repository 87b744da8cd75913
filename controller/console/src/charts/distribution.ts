// SPDX-License-Identifier: Apache-2.0
// Distribution of the occupancy, next to the chart over time and on the same vertical axis.

import { h, text } from '../dom';
import type { Distribution, DistributionBin } from '../model/types';
import { labels, type YAxis, ySplits } from './axis';
import { axes, DASHED, DOTTED, figure, withinAxes } from './figure';
import { type Box, type Stroke, SvgPen } from './pen';
import type { Picture } from './picture';
import { ticks } from './scale';
import { ink, onTheme } from './theme';

/** Room to the right of the bars. */
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

  /** `axis`: the axis of the chart over time. */
  constructor(private readonly axis: () => YAxis) {
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
    this.picture.replaceChildren(new DOMParser().parseFromString(this.onPage(), 'image/svg+xml').documentElement);
  }

  /** The largest share shown; null if nothing was measured. */
  private get full(): number | null {
    const peak = Math.max(0, ...(this.data?.bins ?? []).map((b) => b.share));
    return peak > 0 ? Math.ceil(peak * 20) / 20 : null;
  }

  /** Returns the picture as it is on the page. */
  private onPage(): string {
    const { top, height } = this.frame;
    const [right, bottom] = [this.width - MARGIN, top + height];
    const [soft, rule] = [ink('ink-soft'), ink('rule-strong')];
    const pen = new SvgPen();
    const y = this.draw(pen, { left: 0, top, width: right, height }, right - 26);
    pen.segments([0.5, top, 0.5, bottom, 0, bottom, right, bottom], { colour: rule, width: 1 });
    const { p50 = null, p99 = null } = this.data ?? {};
    // Overlapping labels are unreadable: the median's is left out.
    if (p50 !== null && p99 !== null && y(p50) - y(p99) >= 13) pen.text(right, y(p50) + 4, 'p50', 'end', soft);
    if (p99 !== null) pen.text(right, y(p99) + 4, 'p99', 'end', soft);
    pen.text(0, bottom + 14, '0', 'start', soft);
    if (this.full !== null) pen.text(right, bottom + 14, String(Math.round(this.full * 100)), 'end', soft);
    pen.text(right / 2, bottom + 29, this.width > 150 ? 'share of arrivals, %' : 'arrivals, %', 'middle', soft);
    return pen.file(this.name, '', this.width, bottom + BOTTOM);
  }

  /** Draws the bars and the lines across them; the lines of the quantiles end at `lines`. */
  private draw(pen: SvgPen, { left, top, width, height }: Box, lines: number): (bytes: number) => number {
    const { maxBytes } = this.frame;
    const y = (bytes: number): number => top + height * (1 - Math.min(1, bytes / maxBytes));
    const full = this.full ?? 1;
    const bar = (b: DistributionBin): string => {
      const w = Math.max(0.75, (b.share / full) * width);
      return `M${left} ${y(b.lowBytes).toFixed(1)}h${w.toFixed(1)}V${y(b.highBytes).toFixed(1)}H${left}Z`;
    };
    const bins = this.data?.bins.filter((b) => b.share > 0) ?? [];
    pen.fill(bins.map(bar).join(''), ink('water'), 0.7);
    const across = (bytes: number | null, to: number, stroke: Stroke): void => {
      // No line for a value beyond the scale.
      if (bytes !== null && bytes <= maxBytes) pen.segments([left, y(bytes), to, y(bytes)], stroke);
    };
    const { p50 = null, p99 = null } = this.data ?? {};
    for (const bytes of [p50, p99]) across(bytes, lines, { colour: ink('ink-soft'), width: 1, dash: DOTTED });
    across(this.limitBytes, left + width, { colour: ink('limit'), width: 1.75, dash: DASHED });
    return y;
  }

  empty(): boolean {
    return this.full === null;
  }

  svg(): string {
    const full = this.full ?? 1;
    const { maxBytes } = this.frame;
    const axis = this.axis();
    return figure({
      name: this.name,
      signs: [
        { words: 'arrivals', look: 'bars', colour: ink('water') },
        { words: 'p50 and p99', look: 'dotted', colour: ink('ink-soft') },
        ...(this.limitBytes === null ? [] : [{ words: 'limit', look: 'dashed', colour: ink('limit') } as const]),
      ],
      span: null,
      draw: (pen, box) => {
        const area = withinAxes(box, false);
        const view = { ...area, x: (v: number) => area.left + (v / full) * area.width, y: (v: number) => area.top + area.height * (1 - v / maxBytes) };
        const [xAt, yAt] = [ticks(0, full, 8), ySplits(axis, 0, maxBytes, 6)];
        const percent = { label: '', factor: () => 100 };
        axes(pen, view, { x: { at: xAt, labels: labels(percent, xAt) }, clock: null, y: { at: yAt, labels: labels(axis, yAt) }, xLabel: 'share of arrivals, %', yLabel: axis.label });
        const y = this.draw(pen, area, area.left + area.width);
        const { p50 = null, p99 = null } = this.data ?? {};
        for (const [bytes, words] of [[p50, 'p50'], [p99, 'p99']] as const) {
          if (bytes !== null && bytes <= maxBytes) pen.text(area.left + area.width - 4, y(bytes) - 4, words, 'end', ink('ink-soft'));
        }
      },
    });
  }

  csv(): string {
    const rows = (this.data?.bins ?? []).map((b) => `${b.lowBytes},${b.highBytes},${b.share}`);
    return `${['low_bytes,high_bytes,share', ...rows].join('\n')}\n`;
  }
}
