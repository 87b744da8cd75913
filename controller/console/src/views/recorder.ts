// SPDX-License-Identifier: Apache-2.0
// The recorder: occupancy with its distribution, and below it utilisation, loss
// and delay on the same time axis. Follows the newest data, or holds a chosen
// span and shows it packet by packet where the collector still has it.

import { DistributionChart } from '../charts/distribution';
import { OccupancyChart } from '../charts/occupancy';
import { clockText } from '../charts/clock';
import { Strip } from '../charts/strip';
import { FlowWindowsChart, SumChart } from '../charts/windows';
import type { Plot } from '../charts/plot';
import { attr, h, keyed, text } from '../dom';
import { formatSize, MISSING, milliseconds, percent, type SizeContext, type SizeUnit, sizeAxisLabel, sizeIn } from '../format/units';
import { rebin } from '../model/distribution';
import type { Flow, Targets } from '../model/types';
import { bdpBytes, queueAt } from '../model/windows';
import { Controls, type ControlsActions } from './controls';
import { PacketCard } from './packet';
import type { MakePanel, Shown } from './panel';
import { chartBox, saveMenu } from './save';
import { docs, term } from './terms';

interface RecorderState extends Shown {
  limit: number | null;
  advised: number | null;
  targets: Targets | null;
  unit: SizeUnit;
  context: SizeContext;
  stale: boolean;
  /** A run that goes on no more. */
  finished: boolean;
  flows: readonly Flow[];
  colours: ReadonlyMap<string, number>;
  bdpBytes: number | null;
}

const READINGS = [
  ['p50', 'p50'],
  ['p99', 'p99'],
  ['max', 'largest'],
  ['limit', 'limit'],
  ['drops', 'drops'],
] as const;
type Reading = (typeof READINGS)[number][0];

/** Most rows of the distribution beside the chart. */
const ROWS = 64;

/** Which line is what of a flow. */
function lineKey(): HTMLElement {
  const line = (kind: string, words: string): HTMLElement => h('span', {}, h('i', { class: `line ${kind}`, 'aria-hidden': 'true' }), words);
  return h('small', { class: 'line-key' }, line('solid', 'cwnd'), line('dotted', 'in flight'));
}

export class Recorder {
  readonly element: HTMLElement;
  private readonly occupancy: OccupancyChart;
  private readonly marginal = new DistributionChart();
  private readonly utilisation: Strip;
  private readonly loss: Strip;
  private readonly delay: Strip;
  private readonly readings = new Map<Reading, HTMLElement>();
  private readonly when = h('span', { class: 'when' });
  private readonly note = h('p', { class: 'hold-note' });
  private readonly controls: Controls;
  private readonly values = {
    utilisation: h('b', {}, MISSING),
    loss: h('b', {}, MISSING),
    delay: h('b', {}, MISSING),
    cwnd: h('b', {}, MISSING),
    sum: h('b', {}, MISSING),
  };
  private readonly cwnd: FlowWindowsChart;
  private readonly sum: SumChart;
  private readonly sumNote = h('small');
  private readonly flowKey = h('ul', { class: 'flow-key' });
  private readonly packet: PacketCard;
  private pointed: number | null = null;
  private readonly summary = h('p', { class: 'visually-hidden' });
  private state: RecorderState | null = null;
  private cursor: number | null = null;
  private offset = 0;
  private factor = 1e-3;

  constructor(actions: ControlsActions) {
    this.controls = new Controls(actions);
    const legend = h('dl', { class: 'readings' });
    for (const [name, label] of READINGS) {
      const value = h('dd', {}, MISSING);
      this.readings.set(name, value);
      legend.append(h('div', { class: `key-${name}` }, h('dt', {}, label), value));
    }

    const main = h('div', { class: 'plot plot-occupancy' });
    const plots = {
      utilisation: h('div', { class: 'plot' }),
      loss: h('div', { class: 'plot' }),
      delay: h('div', { class: 'plot' }),
      cwnd: h('div', { class: 'plot' }),
      sum: h('div', { class: 'plot' }),
    };
    this.packet = new PacketCard((by) => this.step(by));
    const channel = (name: keyof typeof plots, title: string, label: (Node | string)[], hint: string, chart: () => { plot: Plot }, ...more: HTMLElement[]): HTMLElement[] => [
      chartBox(title, plots[name], () => chart().plot),
      h('div', { class: `reading reading-${name}`, title: hint }, h('span', {}, ...label), this.values[name], ...more),
    ];
    this.element = h(
      'section',
      { class: 'recorder', 'aria-labelledby': 'recorder-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'recorder-title' }, 'Queue occupancy'), docs('reference/console.html#queue-occupancy', '?', 'What these charts show'), this.when, this.controls.element),
      legend,
      this.summary,
      h(
        'div',
        { class: 'channels' },
        chartBox('Queue occupancy', main, () => this.occupancy.plot),
        h('div', { class: 'marginal-cell' }, this.marginal.element, saveMenu('Distribution of the occupancy', () => this.marginal)),
        ...channel('cwnd', 'Windows of flows', [term('cwnd'), ' of chosen flows'], 'Crosses are drops, rings CE marks. Choose flows in the table below.', () => this.cwnd, lineKey(), this.flowKey),
        ...channel('sum', 'W against Q and BDP', ['W = in flight; Q + ', term('BDP')], 'While the link is full, what probed flows have in flight is what waits and what is on the way', () => this.sum, this.sumNote),
        ...channel('utilisation', 'Utilisation', ['utilisation'], 'Bytes that left over capacity', () => this.utilisation),
        ...channel('loss', 'Loss', ['loss'], 'Drops over arrivals', () => this.loss),
        ...channel('delay', 'Queueing delay', ['queueing delay, ', term('p99')], 'The chart shows p50, p99 and largest', () => this.delay),
      ),
      this.packet.element,
      this.note,
    );

    const onSelect = (from: number, to: number): void => actions.hold(from, to);
    const onCursor = (i: number | null): void => {
      if (i === this.cursor) return;
      this.cursor = i;
      this.showReadings();
    };
    this.occupancy = new OccupancyChart(main, {
      factor: () => this.factor,
      unitLabel: () => this.unitLabel(),
      onSelect,
      onCursor,
      onScale: (maxBytes, top, height) => this.setFrame(maxBytes, top, height),
      onPacket: (i) => {
        this.pointed = i;
        this.showPacket();
      },
    });
    this.cwnd = new FlowWindowsChart(plots.cwnd, { onSelect, onCursor: () => {} });
    this.sum = new SumChart(plots.sum, () => this.factor, () => `bytes, ${this.unitLabel()}`, { onSelect, onCursor: () => {} });
    const common = { sync: 'recorder', onSelect, onCursor };
    this.utilisation = new Strip(plots.utilisation, {
      name: 'Utilisation',
      columns: ['utilisation'],
      label: 'util., %',
      factor: 100,
      height: 84,
      showX: false,
      floor: 1,
      // What matters is near 100 %: the axis begins below the smallest value shown.
      range: (least) => [least >= 0.9 ? 0.88 : least >= 0.6 ? 0.5 : 0, 1.02],
      colour: 'water',
      lines: 1,
      ...common,
    });
    this.loss = new Strip(plots.loss, {
      name: 'Loss',
      columns: ['loss_rate'],
      label: 'loss, %',
      factor: 100,
      height: 84,
      showX: false,
      floor: 0.02,
      colour: 'drop',
      lines: 1,
      bars: true,
      ...common,
    });
    this.delay = new Strip(plots.delay, {
      name: 'Queueing delay',
      columns: ['delay_max_ms', 'delay_p99_ms', 'delay_p50_ms'],
      label: 'delay, ms',
      factor: 1,
      height: 140,
      showX: true,
      floor: 1,
      colour: 'water',
      lines: 3,
      ...common,
    });
  }

  private unitLabel(): string {
    const u = this.state?.unit ?? 'bytes';
    return u === 'bytes' ? 'kB' : sizeAxisLabel(u);
  }

  private setFrame(maxBytes: number, top: number, height: number): void {
    this.marginal.setFrame({ maxBytes, top, height });
    this.showDistribution(maxBytes);
  }

  private frameMax = 1;
  private showDistribution(maxBytes: number): void {
    this.frameMax = maxBytes;
    const s = this.state;
    if (!s) return;
    const d = s.distribution;
    // Whole packets per row: else rows with one packet size more stand out.
    const row = Math.ceil(maxBytes / ROWS / s.context.packetBytes) * s.context.packetBytes;
    const rows = Math.max(1, Math.ceil(maxBytes / row));
    const shown = d ? { ...d, bins: rebin(d.bins, rows * row, rows) } : null;
    const size = (b: number | null): string => formatSize(s.unit, b, s.context);
    const words = d
      ? `Distribution of the occupancy met by arrivals: median ${size(d.p50)}, 99th percentile ${size(d.p99)}, largest ${size(d.max)}.`
      : 'No distribution yet.';
    this.marginal.set(shown, s.limit, words);
  }

  /** Another port: forget the scales. */
  reset(): void {
    this.occupancy.reset();
    this.cwnd.reset();
    this.sum.reset();
    this.loss.reset();
    this.delay.reset();
    this.cursor = null;
  }

  update(s: RecorderState): void {
    const unitChanged = this.state?.unit !== s.unit || this.state?.context.packetBytes !== s.context.packetBytes;
    this.state = s;
    this.factor = s.unit === 'bytes' ? 1e-3 : (sizeIn(s.unit, 1, s.context) ?? 1e-3);
    if (unitChanged) {
      this.occupancy.relabel();
      this.sum.relabel(`bytes, ${this.unitLabel()}`);
    }
    attr(this.element, 'data-stale', s.stale);
    attr(this.element, 'data-held', s.held);
    this.controls.update(s);
    const margin = s.recording.step;
    const series = s.recording.series;
    const start = series.indexAt(s.from - 2 * margin);
    const end = s.held ? Math.min(series.length, series.indexAt(s.to + 2 * margin) + 1) : series.length;
    this.offset = start;
    const cut = <T,>(a: readonly T[]): T[] => a.slice(start, end);
    const time = cut(series.time);
    const col = (n: Parameters<typeof series.column>[0]): (number | null)[] => cut(series.column(n));
    this.occupancy.set({
      time,
      p50: col('occP50'),
      p99: col('occP99'),
      max: col('occMax'),
      limit: col('limit'),
      drops: col('drops'),
      from: s.from,
      to: s.to,
      advised: null,
      packets: s.packets,
      colours: s.colours,
    });
    this.showWindows(s);
    this.utilisation.set(time, [col('utilisation')], s.from, s.to, s.targets?.utilisation ?? null);
    this.loss.set(time, [col('loss')], s.from, s.to, s.targets?.lossRate ?? null);
    this.delay.set(time, [col('delayMax'), col('delayP99'), col('delayP50')], s.from, s.to, s.targets?.delayMs ?? null);
    this.showDistribution(this.frameMax);
    text(this.note, s.held ? s.packetsNote : 'Drag across a chart to hold that span and see its packets.');
    this.showReadings();
  }

  private showWindows(s: RecorderState): void {
    const w = s.windows;
    const colours = w.flows.map((f) => s.colours.get(f.id) ?? 7);
    this.cwnd.set(w.time, w.flows, colours, s.context.packetBytes, s.from, s.to);
    const bdp = s.bdpBytes;
    const queue = queueAt(s.recording.series, w.time, w.stepSeconds);
    const queuePlusBdp = queue.map((q) => (q === null || bdp === null ? null : q + bdp));
    this.sum.set(w.time, queuePlusBdp, w.inFlightSumBytes, s.from, s.to);
    const size = (b: number | null | undefined): string => formatSize(s.unit, b ?? null, s.context);
    const i = w.time.findLastIndex((t) => t < s.to);
    const known = w.flows.filter((f) => f.cwndPkts.some((v) => v !== null)).length;
    text(this.values.cwnd, `${known} of ${w.flows.length}`);
    text(this.values.sum, i < 0 ? MISSING : `${size(w.inFlightSumBytes[i])}; ${size(queuePlusBdp[i])}`);
    text(this.sumNote, i < 0 ? '' : `${w.probedFlows[i] ?? 0} of ${w.dataFlows[i] ?? 0} flows probed; BDP ${size(bdp)}`);
    keyed(
      this.flowKey,
      w.flows,
      (f) => f.id,
      () => h('li', {}, h('span', { class: 'swatch', 'aria-hidden': 'true' }), h('span')),
      (li, f) => {
        const [swatch, words] = Array.from(li.children);
        const flow = s.flows.find((x) => x.id === f.id);
        const last = f.cwndPkts.findLast((v) => v !== null);
        if (swatch) attr(swatch, 'data-flow', ((s.colours.get(f.id) ?? 7) % 8) + 1);
        if (words) text(words, `${flow ? flow.src : `flow ${f.id}`}${last == null ? '' : `: ${last}`}`);
      },
    );
    this.showPacket();
  }

  private showPacket(): void {
    const s = this.state;
    if (s) this.packet.update({ packets: s.packets, index: this.pointed, flows: s.flows, unit: s.unit, context: s.context });
  }

  /** The packet before or after the one shown. */
  private step(by: number): void {
    const n = this.state?.packets?.time.length ?? 0;
    if (n === 0) return;
    const to = this.pointed === null ? (by > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, this.pointed + by));
    this.occupancy.showPacket(to);
  }

  private showReadings(): void {
    const s = this.state;
    if (!s) return;
    const series = s.recording.series;
    const newest = s.held ? series.indexAt(s.to) - 1 : series.length - 1;
    const i = this.cursor === null ? newest : this.cursor + this.offset;
    const at = (n: Parameters<typeof series.column>[0]): number | null => series.column(n)[i] ?? null;
    const size = (b: number | null): string => formatSize(s.unit, b, s.context);
    const set = (name: Reading, value: string): void => {
      const e = this.readings.get(name);
      if (e) text(e, value);
    };
    set('p50', size(at('occP50')));
    set('p99', size(at('occP99')));
    set('max', size(at('occMax')));
    set('limit', at('limit') === null ? (s.limit === null ? 'none' : size(s.limit)) : size(at('limit')));
    set('drops', String(at('drops') ?? MISSING));
    text(this.values.utilisation, percent(at('utilisation')));
    text(this.values.loss, percent(at('loss')));
    text(this.values.delay, milliseconds(at('delayP99')));
    const t = series.time[i];
    const clock = t === undefined ? '' : clockText(t);
    text(this.when, t === undefined ? '' : `${t.toFixed(s.recording.step < 0.1 ? 2 : 1)} s${clock ? `, ${clock}` : ''}`);
    if (this.cursor === null) {
      const total = series.column('drops').slice(series.indexAt(s.from)).reduce<number>((a, d) => a + (d ?? 0), 0);
      text(
        this.summary,
        `Newest interval: median ${size(at('occP50'))}, 99th percentile ${size(at('occP99'))}, limit ${size(s.limit)}, ` +
          `utilisation ${percent(at('utilisation'))}, loss ${percent(at('loss'))}. ${total} drops in the span shown.`,
      );
    }
  }
}

export const recorderPanel: MakePanel = (actions) => {
  const view = new Recorder(actions);
  return {
    element: view.element,
    update: (s) => view.update({ ...s, ...s.shown, flows: s.link?.estimate?.flows ?? [], bdpBytes: s.link ? bdpBytes(s.link) : null, targets: s.link?.targets ?? null, finished: s.status?.finished != null, stale: s.fresh.level === 'stale' || s.fresh.level === 'lost' }),
    reset: () => view.reset(),
  };
};
