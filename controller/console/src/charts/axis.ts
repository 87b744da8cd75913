// SPDX-License-Identifier: Apache-2.0
// Axes with round ticks that name their unit.

import type uPlot from 'uplot';
import { clockText } from './clock';
import { decimalsFor, niceStep, ticks } from './scale';
import { ink } from './theme';

/** Left gutter of every time chart, so that their plots line up. */
const GUTTER = 62;

export interface Axis {
  label: string;
  /** Shown value per stored value, e.g. 100 for a share shown in per cent. */
  factor: () => number;
}

export interface YAxis extends Axis {
  /** Ticks wanted. */
  wanted: number;
}

export interface XAxis extends Axis {
  /** Time: the wall clock stands below. */
  clock?: boolean;
}

export const TIME: XAxis = { label: 'time since the first report, s, and of day', factor: () => 1, clock: true };

function splits(axis: Axis, min: number, max: number, wanted: number): number[] {
  const f = axis.factor();
  return ticks(min * f, max * f, wanted).map((v) => v / f);
}

export function xSplits(axis: XAxis, min: number, max: number, width: number): number[] {
  const apart = axis.clock && max - min < 8 ? 100 : 75;
  return splits(axis, min, max, Math.max(2, Math.floor((width - GUTTER) / apart)));
}

export function ySplits(axis: YAxis, min: number, max: number): number[] {
  return splits(axis, min, max, axis.wanted);
}

export function labels(axis: XAxis, at: readonly number[]): string[] {
  const shown = at.map((v) => v * axis.factor());
  const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : niceStep(Math.abs(shown[0] ?? 1));
  const d = decimalsFor(Number(step.toPrecision(6)));
  return shown.map((v, i) => {
    const time = axis.clock ? clockText(at[i] ?? 0, step < 1 ? 3 : 0) : '';
    return v.toFixed(d) + (time ? `\n${time}` : '');
  });
}

const FONT = '12px "IBM Plex Sans", system-ui, sans-serif';

function drawn(): Partial<uPlot.Axis> {
  return { stroke: () => ink('ink-soft'), font: FONT, labelFont: FONT, labelGap: 0, grid: { stroke: () => ink('rule'), width: 1, dash: [2, 3] } };
}

export function xAxis(visible: boolean, axis: XAxis): uPlot.Axis {
  return {
    ...drawn(),
    size: visible ? (axis.clock ? 40 : 26) : 8,
    label: visible ? axis.label : undefined,
    labelSize: visible ? 18 : 0,
    gap: 3,
    ticks: { show: visible, stroke: () => ink('rule-strong'), width: 1, size: 5 },
    splits: (u, _axis, min, max) => xSplits(axis, min, max, u.width),
    values: (_u, at) => (visible ? labels(axis, at) : at.map(() => '')),
  };
}

export function yAxis(axis: YAxis): uPlot.Axis {
  return {
    ...drawn(),
    label: axis.label,
    labelSize: 18,
    size: GUTTER - 18,
    gap: 4,
    ticks: { stroke: () => ink('rule-strong'), width: 1, size: 4 },
    splits: (_u, _axis, min, max) => ySplits(axis, min, max),
    values: (_u, at) => labels(axis, at),
  };
}
