// SPDX-License-Identifier: Apache-2.0
// What all charts share: size follows the element, colours follow the theme,
// axes have round ticks and name their unit; x is time unless said otherwise.

import uPlot from 'uplot';
import { decimalsFor, niceStep, ticks } from './scale';
import { ink, onTheme } from './theme';

/** Left gutter of every time chart, so that their plots line up. */
export const GUTTER = 62;
const RIGHT = 14;

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
}

const TIME: XAxis = { label: 'time since the first report, s', factor: () => 1 };

export function xAxis(visible: boolean, axis: XAxis): uPlot.Axis {
  return {
    stroke: () => ink('ink-soft'),
    font: FONT,
    labelFont: FONT,
    size: visible ? 26 : 8,
    label: visible ? axis.label : undefined,
    labelSize: visible ? 18 : 0,
    labelGap: 0,
    gap: 3,
    grid: { stroke: () => ink('rule'), width: 1, dash: [2, 3] },
    ticks: { show: visible, stroke: () => ink('rule-strong'), width: 1, size: 5 },
    splits: (u, _axis, min, max) => {
      const f = axis.factor();
      return ticks(min * f, max * f, Math.max(2, Math.floor((u.width - GUTTER) / 75))).map((v) => v / f);
    },
    values: visible
      ? (_u, splits) => {
          const shown = splits.map((v) => v * axis.factor());
          const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : 1;
          const d = decimalsFor(Number(step.toPrecision(6)));
          return shown.map((v) => v.toFixed(d));
        }
      : (_u, splits) => splits.map(() => ''),
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
    splits: (_u, _axis, min, max) => {
      const f = axis.factor();
      return ticks(min * f, max * f, axis.wanted).map((v) => v / f);
    },
    values: (_u, splits) => {
      const f = axis.factor();
      const shown = splits.map((v) => v * f);
      const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : niceStep(Math.abs(shown[0] ?? 1));
      const d = decimalsFor(Number(step.toPrecision(6)));
      return shown.map((v) => v.toFixed(d));
    },
  };
}

export interface PlotOptions {
  height: number;
  showX: boolean;
  /** Time, unless said otherwise. */
  x?: XAxis;
  y: YAxis;
  yRange: () => [number, number];
  series: uPlot.Series[];
  bands?: uPlot.Band[];
  /** Charts of one key share the cursor. */
  sync?: string;
  /** Drag selects a span of time. */
  onSelect?: (from: number, to: number) => void;
  onCursor?: (index: number | null) => void;
  draw?: (u: uPlot) => void;
  onLayout?: (u: uPlot) => void;
}

/** A uPlot that fills its element. */
export class Plot {
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
          draw: o.draw ? [o.draw] : [],
          drawClear: [],
          setSelect: [
            (p) => {
              const { left, width } = p.select;
              if (width < 4) return;
              o.onSelect?.(p.posToVal(left, 'x'), p.posToVal(left + width, 'x'));
              p.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            },
          ],
          setCursor: [(p) => o.onCursor?.(p.cursor.idx ?? null)],
          ...(o.onLayout ? { setSize: [o.onLayout], ready: [o.onLayout] } : {}),
        },
      },
      [[], ...o.series.map(() => [])] as unknown as uPlot.AlignedData,
      element,
    );
    this.u = u;
    const resize = new ResizeObserver(() => {
      const w = element.clientWidth;
      if (w > 0 && Math.abs(w - u.width) >= 1) u.setSize({ width: w, height: o.height });
    });
    resize.observe(element);
    this.stop.push(() => resize.disconnect(), onTheme(() => u.redraw(false, true)));
    // Text on a canvas is drawn once: again when the page's font has arrived.
    void document.fonts?.ready.then(() => u.redraw(false, true));
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
}
