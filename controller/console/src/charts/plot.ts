// SPDX-License-Identifier: Apache-2.0
// What all charts share: size follows the element, colours follow the theme,
// axes have round ticks and name their unit; x is time unless said otherwise.

import uPlot from 'uplot';
import { clockText, unixMsOf } from './clock';
import { csvOf, type Picture, svgOf } from './picture';
import { CanvasPen, type Pen, type View } from './pen';
import { decimalsFor, niceStep, ticks } from './scale';
import { touchSelects } from './touch';
import { ink, onTheme } from './theme';

/** Left gutter of every time chart, so that their plots line up. */
export const GUTTER = 62;
/** Half of the last time of day under an axis, which may stand at its end. */
const RIGHT = 30;

export interface YAxis {
  label: string;
  /** Shown value per stored value, e.g. 100 for a share shown in per cent. */
  factor: () => number;
  /** Ticks wanted. */
  wanted: number;
}

const FONT = '12px "IBM Plex Sans", system-ui, sans-serif';

export interface XAxis {
  label: string;
  /** Shown value per stored value. */
  factor: () => number;
  /** Time: the wall clock stands below. */
  clock?: boolean;
}

const TIME: XAxis = { label: 'time since the first report, s, and of day', factor: () => 1, clock: true };

function xLabels(axis: XAxis, at: readonly number[]): string[] {
  const shown = at.map((v) => v * axis.factor());
  const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : 1;
  const d = decimalsFor(Number(step.toPrecision(6)));
  const clock = (v: number): string => {
    const t = axis.clock ? clockText(v, step < 1 ? 3 : 0) : '';
    return t ? `\n${t}` : '';
  };
  return shown.map((v, i) => v.toFixed(d) + clock(at[i] ?? 0));
}

function xSplits(axis: XAxis, min: number, max: number, width: number): number[] {
  const f = axis.factor();
  const apart = axis.clock && max - min < 8 ? 100 : 75;
  return ticks(min * f, max * f, Math.max(2, Math.floor((width - GUTTER) / apart))).map((v) => v / f);
}

function ySplits(axis: YAxis, min: number, max: number): number[] {
  const f = axis.factor();
  return ticks(min * f, max * f, axis.wanted).map((v) => v / f);
}

function yLabels(axis: YAxis, at: readonly number[]): string[] {
  const shown = at.map((v) => v * axis.factor());
  const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : niceStep(Math.abs(shown[0] ?? 1));
  const d = decimalsFor(Number(step.toPrecision(6)));
  return shown.map((v) => v.toFixed(d));
}

export function xAxis(visible: boolean, axis: XAxis): uPlot.Axis {
  return {
    stroke: () => ink('ink-soft'),
    font: FONT,
    labelFont: FONT,
    size: visible ? (axis.clock ? 40 : 26) : 8,
    label: visible ? axis.label : undefined,
    labelSize: visible ? 18 : 0,
    labelGap: 0,
    gap: 3,
    grid: { stroke: () => ink('rule'), width: 1, dash: [2, 3] },
    ticks: { show: visible, stroke: () => ink('rule-strong'), width: 1, size: 5 },
    splits: (u, _axis, min, max) => xSplits(axis, min, max, u.width),
    values: visible ? (_u, splits) => xLabels(axis, splits) : (_u, splits) => splits.map(() => ''),
  };
}

export function yAxis(axis: YAxis): uPlot.Axis {
  return {
    stroke: () => ink('ink-soft'),
    font: FONT,
    labelFont: FONT,
    label: axis.label,
    labelSize: 18,
    labelGap: 0,
    size: GUTTER - 18,
    gap: 4,
    grid: { stroke: () => ink('rule'), width: 1, dash: [2, 3] },
    ticks: { stroke: () => ink('rule-strong'), width: 1, size: 4 },
    splits: (_u, _axis, min, max) => ySplits(axis, min, max),
    values: (_u, splits) => yLabels(axis, splits),
  };
}

export interface PlotOptions {
  /** Name of the chart, of its files too. */
  name: string;
  height: number;
  showX: boolean;
  /** Time, unless said otherwise. */
  x?: XAxis;
  y: YAxis;
  yRange: () => [number, number];
  series: uPlot.Series[];
  /** Column of each series in a file, with its unit. */
  columns: string[];
  bands?: uPlot.Band[];
  /** Charts of one key share the cursor. */
  sync?: string;
  /** Drag selects a span of time. */
  onSelect?: (from: number, to: number) => void;
  onCursor?: (index: number | null) => void;
  /** The pointer within the plot, CSS pixels; null when it leaves. */
  onPointer?: (at: { left: number; top: number } | null) => void;
  draw?: (pen: Pen, view: View) => void;
  onLayout?: (u: uPlot) => void;
  /** Instead of the series, where the chart draws something else itself. */
  csv?: () => string | null;
}

/** A uPlot that fills its element. */
export class Plot implements Picture {
  readonly u: uPlot;
  private range: [number, number] = [0, 1];
  private readonly stop: (() => void)[] = [];

  constructor(element: HTMLElement, private readonly options: PlotOptions) {
    const o = this.options;
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
          y: { range: () => o.yRange() },
        },
        axes: [xAxis(o.showX, o.x ?? TIME), yAxis(o.y)],
        series: [{}, ...o.series],
        bands: o.bands ?? [],
        hooks: {
          draw: o.draw ? [(p) => this.drawOn(p)] : [],
          drawClear: [],
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
          ...(o.onLayout ? { setSize: [o.onLayout], ready: [o.onLayout] } : {}),
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
    this.stop.push(() => resize.disconnect(), onTheme(() => u.redraw(false, true)));
    // Text on a canvas is drawn once: again when the page's font has arrived.
    void document.fonts?.ready.then(() => u.redraw(false, true));
  }

  get name(): string {
    return this.options.name;
  }

  set(data: (number | null)[][], from: number, to: number): void {
    this.range = to > from ? [from, to] : [from, from + 1];
    this.u.setData(data as uPlot.AlignedData, true);
  }

  redraw(): void {
    this.u.redraw(false, true);
  }

  destroy(): void {
    for (const f of this.stop) f();
    this.u.destroy();
  }

  /** Place of the plot within the chart, and of values in it. */
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
    this.options.draw?.(new CanvasPen(c, devicePixelRatio || 1), this.view());
    c.restore();
  }

  canvas(): HTMLCanvasElement {
    return this.u.ctx.canvas;
  }

  csv(): string {
    const own = this.options.csv?.();
    if (own) return own;
    const time = (this.options.x ?? TIME).clock;
    const first = time ? 'time_s' : (this.options.x?.label ?? 'x').replace(/, /g, '_').replace(/ /g, '_');
    return csvOf(
      [first, ...this.options.columns],
      this.u.data as unknown as (number | null)[][],
      this.range,
      time ? unixMsOf : null,
    );
  }

  svg(): string {
    const u = this.u;
    const o = this.options;
    const x = o.x ?? TIME;
    const [xMin, xMax] = this.range;
    const [yMin, yMax] = o.yRange();
    const xAt = xSplits(x, xMin, xMax, u.width);
    const yAt = ySplits(o.y, yMin, yMax);
    return svgOf({
      name: o.name,
      width: u.width,
      height: u.height + (o.showX ? 0 : 46),
      view: this.view(),
      u,
      series: o.series,
      bands: o.bands ?? [],
      x: { at: xAt, labels: xLabels(x, xAt), label: x.label },
      y: { at: yAt, labels: yLabels(o.y, yAt), label: String(u.axes[1]?.label ?? o.y.label) },
      draw: o.draw ?? null,
    });
  }
}
