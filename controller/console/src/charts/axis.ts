// SPDX-License-Identifier: Apache-2.0
// Axes with round ticks that name their unit.

import type uPlot from 'uplot';
import { clockTicks } from './clock';
import { FONT_FAMILY } from './pen';
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
  /** Number of ticks wanted. */
  wanted: number;
  /** The label if there is room for it. */
  words?: string;
}

export interface XAxis extends Axis {
  /** The axis' column in a file, with the unit in which values are stored. */
  column: string;
  /** An axis of time, with times of day below it. */
  clock?: boolean;
}

export const TIME: XAxis = { label: 'time since the first report, s, and of day', column: 'time_s', factor: () => 1, clock: true };

function splits(axis: Axis, min: number, max: number, wanted: number): number[] {
  const f = axis.factor();
  return ticks(min * f, max * f, wanted).map((v) => v / f);
}

export function xSplits(axis: XAxis, min: number, max: number, width: number): number[] {
  return splits(axis, min, max, Math.max(2, Math.floor((width - GUTTER) / 75)));
}

/** Returns the times of day below an axis of time of this width. */
export function clockRow(min: number, max: number, width: number): ReturnType<typeof clockTicks> {
  const apart = max - min < 8 ? 110 : 85;
  return clockTicks(min, max, Math.max(1, Math.floor((width - GUTTER) / apart)));
}

export function ySplits(axis: YAxis, min: number, max: number, wanted = axis.wanted): number[] {
  return splits(axis, min, max, wanted);
}

export function labels(axis: Axis, at: readonly number[]): string[] {
  const shown = at.map((v) => v * axis.factor());
  const step = shown.length > 1 ? (shown[1] ?? 0) - (shown[0] ?? 0) : niceStep(Math.abs(shown[0] ?? 1));
  const d = decimalsFor(Number(step.toPrecision(6)));
  return shown.map((v) => v.toFixed(d));
}

const FONT = `12px ${FONT_FAMILY}`;
const X_LABEL = 18;

function drawn(): Partial<uPlot.Axis> {
  return { stroke: () => ink('ink-soft'), font: FONT, labelFont: FONT, labelGap: 0, grid: { stroke: () => ink('rule'), width: 1, dash: [2, 3] } };
}

export function xAxis(visible: boolean, axis: XAxis): uPlot.Axis {
  // If there are times of day, the axis' label is below them.
  const label = visible && !axis.clock ? axis.label : undefined;
  return {
    ...drawn(),
    size: visible ? 26 : 8,
    label,
    labelSize: label === undefined ? 0 : X_LABEL,
    gap: 3,
    ticks: { show: visible, stroke: () => ink('rule-strong'), width: 1, size: 5 },
    splits: (u, _axis, min, max) => xSplits(axis, min, max, u.width),
    values: (_u, at) => (visible ? labels(axis, at) : at.map(() => '')),
  };
}

/** Returns the axis of the times of day below an axis of time. */
export function clockAxis(axis: XAxis): uPlot.Axis {
  const row = (u: uPlot): ReturnType<typeof clockTicks> => clockRow(u.scales.x?.min ?? 0, u.scales.x?.max ?? 0, u.width);
  return {
    ...drawn(),
    scale: 'x',
    side: 2,
    size: 14,
    gap: -2,
    label: axis.label,
    labelSize: X_LABEL,
    grid: { show: false },
    ticks: { show: false },
    splits: (u) => row(u).at,
    values: (u) => row(u).labels,
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
