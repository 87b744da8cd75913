// SPDX-License-Identifier: Apache-2.0
// The controller's picture of a verdict, drawn for the space that the page has.

import { verdictPicture } from '../api/client';
import { onTheme, theme } from '../charts/theme';
import type { Picture } from '../charts/picture';
import { h } from '../dom';
import { sameLink } from '../model/links';
import type { CurvePoint, Interval, Link } from '../model/types';

/** The axis of limits: its range in bytes, and its place in the drawing in CSS pixels. */
export interface LimitAxis {
  limits: readonly [number, number];
  left: number;
  width: number;
  top: number;
  height: number;
}

export class VerdictDrawing implements Picture {
  readonly name = 'Expected over the limit';
  readonly element = h('div', { class: 'verdict-drawing', 'aria-hidden': 'true' });
  private link: Link | null = null;
  private curve: readonly CurvePoint[] = [];
  private asked = '';
  private waiting = false;
  private shown = '';

  constructor(private readonly onAxis: (a: LimitAxis | null) => void) {
    new ResizeObserver(() => this.draw()).observe(this.element);
    onTheme(() => this.draw());
  }

  /** Sets another moment or link; draws again if the curve has changed. */
  set(link: Link | null, curve: readonly CurvePoint[]): void {
    const other = !sameLink(link, this.link);
    if (curve === this.curve && !other) return;
    // A picture of another port could be mistaken for one of this port.
    if (other) this.show('');
    [this.link, this.curve, this.asked] = [link, curve, ''];
    this.draw();
  }

  empty(): boolean {
    return this.curve.length === 0;
  }

  /** Returns the picture as it is saved. */
  svg(): Promise<string> {
    if (!this.link) throw new Error('no port is chosen');
    return verdictPicture(this.link, 'light', null);
  }

  csv(): string {
    const names = ['utilisation', 'loss_rate', 'delay_ms', 'delay_mean_ms'].flatMap((n) => [n, `${n}_low`, `${n}_high`]);
    const cells = (i: Interval | null): (number | string)[] => (i ? [i.value, i.low, i.high] : ['', '', '']);
    const rows = this.curve.map(({ bufferBytes, predicted: p }) =>
      [bufferBytes, ...cells(p.utilisation), ...cells(p.lossRate), ...cells(p.delayMs), ...cells(p.delayMeanMs)].join(','),
    );
    return `${[['limit_bytes', ...names].join(','), ...rows].join('\n')}\n`;
  }

  /** Draws with one request at a time; another one follows if the state has changed. */
  private draw(): void {
    const { link } = this;
    const width = this.element.clientWidth;
    if (!link || this.empty()) {
      this.show('');
      return;
    }
    const ask = `${theme()} ${width}`;
    if (this.waiting || width < 120 || ask === this.asked) return;
    this.waiting = true;
    this.asked = ask;
    verdictPicture(link, theme(), width)
      .then((svg) => {
        if (sameLink(this.link, link)) this.show(svg);
      })
      // The current picture stays; the next verdict triggers another request.
      .catch(() => {})
      .finally(() => {
        this.waiting = false;
        this.draw();
      });
  }

  private show(svg: string): void {
    if (svg === this.shown) return;
    this.shown = svg;
    if (svg === '') {
      this.element.replaceChildren();
      this.onAxis(null);
      return;
    }
    // Scripts of a parsed document do not run.
    const root = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement;
    this.element.replaceChildren(root);
    const at = (name: string): number => Number(root.getAttribute(`data-${name}`));
    const scale = Math.min(1, this.element.clientWidth / Number(root.getAttribute('width')));
    const [left, top] = [at('left') * scale, at('top') * scale];
    this.onAxis({ limits: [at('low-bytes'), at('high-bytes')], left, top, width: at('right') * scale - left, height: at('bottom') * scale - top });
  }
}
