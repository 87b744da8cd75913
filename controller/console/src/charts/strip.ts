// SPDX-License-Identifier: Apache-2.0
// The recorder's channels below the occupancy, on the shared time axis.

import uPlot from 'uplot';
import type { Sign, Trace } from './figure';
import { band, HIDDEN, line, Plot, type PlotOptions } from './plot';
import { ink } from './theme';

type Strip = Pick<PlotOptions, 'onSelect' | 'onCursor'>;

const COMMON = { height: 84, showX: false, sync: 'recorder' };

/** `range`: the range of the y axis. */
export function utilisationStrip(range: () => [number, number], o: Strip): Plot {
  return new Plot({
    ...COMMON,
    ...o,
    name: 'Utilisation',
    columns: ['utilisation'],
    y: { label: 'util., %', words: 'utilisation, %', factor: () => 100, wanted: 2 },
    signs: () => [{ words: 'bytes that left over capacity', look: 'line', colour: ink('water') }],
    yRange: range,
    series: [line('water', 1.5)],
  });
}

/** Bars, because a loss belongs to a single interval. */
export function lossStrip(o: Strip): Plot {
  const bars: Partial<Trace> = uPlot.paths.bars ? { drawn: 'bars', fill: () => ink('drop'), width: 0, paths: uPlot.paths.bars({ size: [1, 12, 1] }) } : {};
  return new Plot({
    ...COMMON,
    ...o,
    name: 'Loss',
    columns: ['loss_rate'],
    y: { label: 'loss, %', factor: () => 100, wanted: 2 },
    signs: () => [{ words: 'drops over arrivals', look: 'bars', colour: ink('drop') }],
    floor: 0.02,
    series: [line('drop', 1.5, bars)],
  });
}

/** Returns the signs of the median, the 99th percentile and the maximum. */
export function levels(): Sign[] {
  return [
    { words: 'median', look: 'line', colour: ink('water') },
    { words: 'to the 99th percentile', look: 'band', colour: ink('water-band') },
    { words: 'largest', look: 'thin', colour: ink('water-faint') },
  ];
}

export function delayStrip(o: Strip): Plot {
  return new Plot({
    ...COMMON,
    ...o,
    name: 'Queueing delay',
    columns: ['delay_max_ms', 'delay_p99_ms', 'delay_p50_ms'],
    height: 140,
    showX: true,
    y: { label: 'delay, ms', words: 'queueing delay, ms', factor: () => 1, wanted: 2 },
    signs: levels,
    series: [line('water-faint', 1), HIDDEN, line('water', 1.5)],
    bands: [band(2, 3)],
  });
}

/** Returns the axis' range, from below the smallest utilisation: differences near 100 % matter. */
export function utilisationRange(time: readonly number[], values: readonly (number | null)[], from: number, to: number): [number, number] {
  let least = Infinity;
  time.forEach((t, i) => {
    const v = values[i];
    if (v != null && t >= from && t <= to && v < least) least = v;
  });
  if (least === Infinity) least = 0;
  return [least >= 0.9 ? 0.88 : least >= 0.6 ? 0.5 : 0, 1.02];
}
