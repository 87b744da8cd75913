// SPDX-License-Identifier: Apache-2.0
// Common to all charts: their size follows the element, their colours follow the theme, and x is
// time unless specified otherwise.

import uPlot from 'uplot';
import { clockAxis, clockRow, labels, TIME, type XAxis, type YAxis, xAxis, xSplits, yAxis, ySplits } from './axis';
import { unixMsOf } from './clock';
import { h } from '../dom';
import { axes, DOTTED, figure, type Sign, type Trace, traces, withinAxes } from './figure';
import { csvOf, type Picture } from './picture';
import { CanvasPen, type Pen, SvgPen, type View } from './pen';
import { largest, StickyMax, usual } from './scale';
import { touchSelects } from './touch';
import { type Ink, ink, onTheme } from './theme';

/** Room for half of the last time of day under an axis, which may be at its end. */
const RIGHT = 30;

/** Returns a line of this colour. */
export function line(colour: Ink, width: number, more: Partial<Trace> = {}): Trace {
  return { stroke: () => ink(colour), width, points: { show: false }, ...more };
}

export const HIDDEN: Trace = { stroke: 'transparent', width: 0, points: { show: false } };

/** Returns the area between two series. */
export function band(upper: number, lower: number): uPlot.Band {
  return { series: [upper, lower], fill: () => ink('water-band') } as unknown as uPlot.Band;
}

/** A value with its range: its highest, its lowest, and the value itself. */
export const RANGED: { series: Trace[]; bands: uPlot.Band[] } = { series: [HIDDEN, HIDDEN, line('water', 1.75)], bands: [band(1, 2)] };

export interface PlotOptions {
  /** Name of the chart and of its files. */
  name: string;
  height: number;
  showX: boolean;
  /** The x axis; time by default. */
  x?: XAxis;
  y: YAxis;
  /** Smallest range of the y axis, which otherwise follows the data, from 0. */
  floor?: number;
  /** Room above the largest value, as a factor. */
  headroom?: number;
  /** Whether peaks far above nearly all other values are cut off, and marked. */
  cut?: boolean;
  /** Range of the y axis, instead of one from 0. */
  yRange?: () => [number, number];
  series: Trace[];
  /** The legend of a saved picture, without the target. */
  signs: () => Sign[];
  /** Column of each series in a file, with its unit. */
  columns: string[];
  bands?: uPlot.Band[];
  /** Charts with the same key share the cursor. */
  sync?: string;
  /** Called when a span of time is selected by dragging. */
  onSelect?: (from: number, to: number) => void;
  onCursor?: (index: number | null) => void;
  /** Called with the pointer within the plot, CSS pixels; null when it leaves. */
  onPointer?: (at: { left: number; top: number } | null) => void;
  draw?: (pen: Pen, view: View) => void;
  /** Called when the y range or the plot's place changes, for charts that share the axis. */
  onScale?: (most: number, top: number, height: number) => void;
  /** Returns the CSV if the chart itself draws something other than the series. */
  csv?: () => string | null;
  /** Likewise, whether nothing was measured in the span shown. */
  empty?: () => boolean;
}

type Columns = (number | null)[][];

/** Returns the values of the rows within a span of the first column. */
function valuesWithin([x = [], ...columns]: Columns, from: number, to: number): number[] {
  const inside = x.map((v) => v !== null && v >= from && v <= to);
  return columns.flatMap((c) => c.filter((v, i): v is number => inside[i] === true && v != null));
}

/** A uPlot that fills its element. The chart is drawn, not read: a text next to it describes it. */
export class Plot implements Picture {
  readonly element = h('div', { class: 'plot', 'aria-hidden': 'true' });
  readonly u: uPlot;
  private range: [number, number] = [0, 1];
  private readonly sticky: StickyMax;
  /** The operator's target, drawn as a fine dotted line. */
  private target: number | null = null;

  constructor(private readonly options: PlotOptions) {
    const { element } = this;
    const o = this.options;
    this.sticky = new StickyMax(o.floor ?? 1);
    const u = new uPlot(
      {
        width: Math.max(120, element.clientWidth),
        height: o.height,
        padding: [8, RIGHT, 0, 0],
        legend: { show: false },
        cursor: {
          points: { show: false },
          y: false,
          drag: { x: o.onSelect !== undefined, y: false, setScale: false, dist: 6 },
          ...(o.sync ? { sync: { key: o.sync, setSeries: false, scales: ['x', null] as [string, null] } } : {}),
        },
        select: { show: o.onSelect !== undefined, left: 0, top: 0, width: 0, height: 0 },
        scales: {
          x: { time: false, range: () => this.range },
          y: { range: () => this.yRange() },
        },
        axes: [xAxis(o.showX, o.x ?? TIME), yAxis(o.y), ...(o.showX && (o.x ?? TIME).clock ? [clockAxis(o.x ?? TIME)] : [])],
        series: [{}, ...o.series],
        bands: o.bands ?? [],
        hooks: {
          draw: [(p) => this.drawOn(p)],
          setSelect: [
            (p) => {
              const { left, width } = p.select;
              if (width < 4) return;
              o.onSelect?.(p.posToVal(left, 'x'), p.posToVal(left + width, 'x'));
              p.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          setCursor: [
            (p) => {
              o.onCursor?.(p.cursor.idx ?? null);
              const { left, top } = p.cursor;
              o.onPointer?.(left === undefined || top === undefined || left < 0 || top < 0 ? null : { left, top });
            },
          ],
          setSize: [(p) => this.tellScale(p)],
          ready: [(p) => this.tellScale(p)],
        },
      },
      [[], ...o.series.map(() => [])] as unknown as uPlot.AlignedData,
      element,
    );
    this.u = u;
    if (o.onSelect) touchSelects(u);
    const resize = new ResizeObserver(() => {
      const w = element.clientWidth;
      if (w > 0 && Math.abs(w - u.width) >= 1) u.setSize({ width: w, height: o.height });
    });
    resize.observe(element);
    onTheme(() => u.redraw(false, true));
    // Text on a canvas is drawn once: draw again when the page's font has arrived.
    void document.fonts?.ready.then(() => u.redraw(false, true));
  }

  get name(): string {
    return this.options.name;
  }

  /** Sets the columns: x, and one for every series. Room for `most`, or else for all values. */
  set(data: Columns, from: number, to: number, { target = null, most }: { target?: number | null; most?: number } = {}): void {
    this.target = target;
    this.range = to > from ? [from, to] : [from, from + 1];
    this.sticky.update((most ?? this.mostOf(valuesWithin(data, ...this.range))) * (this.options.headroom ?? 1.1));
    this.u.setData(data as uPlot.AlignedData, true);
    this.tellScale(this.u);
  }

  private values(): number[] {
    return valuesWithin(this.u.data as unknown as Columns, ...this.range);
  }

  private mostOf(values: readonly number[]): number {
    return this.options.cut ? usual(values) : largest(values);
  }

  redraw(): void {
    this.u.redraw(false, true);
  }

  /** Forgets the axis, for other data. */
  reset(): void {
    this.sticky.reset();
  }

  /** Renames an axis: 0 for x, 1 for y. */
  relabel(which: 0 | 1, label: string): void {
    const axis = this.u.axes[which];
    if (axis) axis.label = label;
    this.redraw();
  }

  private yRange(): [number, number] {
    return this.options.yRange?.() ?? [0, this.sticky.value];
  }

  private tellScale(u: uPlot): void {
    const r = devicePixelRatio || 1;
    this.options.onScale?.(this.yRange()[1], u.bbox.top / r, u.bbox.height / r);
  }

  /** Returns the place of the plot within the chart, and of values in it. */
  view(): View {
    const u = this.u;
    const r = devicePixelRatio || 1;
    const { left, top, width, height } = u.bbox;
    return {
      x: (v) => left / r + u.valToPos(v, 'x'),
      y: (v) => top / r + u.valToPos(v, 'y'),
      left: left / r,
      top: top / r,
      width: width / r,
      height: height / r,
    };
  }

  private drawOn(u: uPlot): void {
    const c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    c.clip();
    this.draw(new CanvasPen(c, devicePixelRatio || 1), this.view());
    c.restore();
  }

  /** Draws the options' picture, the target line, and marks where values exceed the axis. */
  private draw(pen: Pen, v: View): void {
    this.options.draw?.(pen, v);
    if (this.options.cut) this.drawCut(pen, v);
    if (this.target === null) return;
    const y = v.y(this.target);
    if (y >= v.top && y <= v.top + v.height) pen.segments([v.left, y, v.left + v.width, y], { colour: ink('advised'), width: 1.25, dash: DOTTED });
  }

  /** Draws an arrow at the upper edge where lines exceed it, with the largest value. */
  private drawCut(pen: Pen, v: View): void {
    const [x = [], ...columns] = this.u.data as unknown as Columns;
    const top = this.yRange()[1];
    const shown = columns.filter((_, k) => (this.options.series[k]?.width ?? 1) > 0);
    const most = x.map((_, i) => largest(shown.map((c) => c[i])));
    const colour = ink('ink-soft');
    let peak: { x: number; value: number } | null = null;
    let last = Number.NEGATIVE_INFINITY;
    most.forEach((value, i) => {
      const at = x[i] ?? 0;
      if (value <= top || at < this.range[0] || at > this.range[1]) return;
      if (peak === null || value > peak.value) peak = { x: at, value };
      const px = Math.min(Math.max(v.x(at), v.left + 6), v.left + v.width - 6);
      if (px - last < 14) return;
      last = px;
      pen.segments([px - 4, v.top + 7, px, v.top + 2, px, v.top + 2, px + 4, v.top + 7], { colour, width: 1.5 });
    });
    if (peak === null) return;
    const { x: at, value } = peak as { x: number; value: number };
    const px = v.x(at);
    const right = px < v.left + v.width / 2;
    pen.text(px + (right ? 14 : -14), v.top + 14, `up to ${labels(this.options.y, [value])[0] ?? ''}`, right ? 'start' : 'end', colour);
  }

  empty(): boolean {
    return this.options.empty?.() ?? this.values().length === 0;
  }

  csv(): string {
    const own = this.options.csv?.();
    if (own) return own;
    const x = this.options.x ?? TIME;
    return csvOf([x.column, ...this.options.columns], this.u.data as unknown as Columns, this.range, x.clock ? unixMsOf : null);
  }

  svg(): string {
    const o = this.options;
    const x = o.x ?? TIME;
    const clock = x.clock === true;
    const [xMin, xMax] = this.range;
    const [yMin, yMax] = this.yRange();
    const target: Sign[] = this.target === null ? [] : [{ words: 'target', look: 'dotted', colour: ink('advised') }];
    return figure({
      name: o.name,
      signs: [...o.signs(), ...target],
      span: clock ? this.range : null,
      draw: (pen, box) => {
        const area = withinAxes(box, clock);
        const view: View = {
          ...area,
          x: (v) => area.left + ((v - xMin) / (xMax - xMin)) * area.width,
          y: (v) => area.top + (1 - (v - yMin) / (yMax - yMin)) * area.height,
        };
        const xAt = xSplits(x, xMin, xMax, area.width);
        const yAt = ySplits(o.y, yMin, yMax, 6);
        axes(pen, view, {
          x: { at: xAt, labels: labels(x, xAt) },
          clock: clock ? clockRow(xMin, xMax, area.width) : null,
          y: { at: yAt, labels: labels(o.y, yAt) },
          xLabel: clock ? x.label : String(this.u.axes[0]?.label ?? x.label),
          yLabel: o.y.words ?? String(this.u.axes[1]?.label ?? o.y.label),
        });
        const inside = new SvgPen();
        traces(inside, view, this.u.data as unknown as Columns, o.series, o.bands ?? []);
        this.draw(inside, view);
        pen.within(area, inside);
      },
    });
  }
}
