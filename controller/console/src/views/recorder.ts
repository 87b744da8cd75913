// SPDX-License-Identifier: Apache-2.0
// The recorder: occupancy with its distribution, and below it utilisation, loss and delay on the
// same time axis. Follows the newest data, or holds a chosen span and shows it packet by packet if
// the collector still has it.

import { DistributionChart, type DistributionFrame } from '../charts/distribution';
import { OccupancyChart } from '../charts/occupancy';
import { clockText } from '../charts/clock';
import { delayStrip, lossStrip, utilisationRange, utilisationStrip } from '../charts/strip';
import { FlowWindowsChart, SUM_SIGNS, sumChart } from '../charts/windows';
import type { Plot } from '../charts/plot';
import { attr, h, keyed, text } from '../dom';
import { axisFactor, axisUnit, count, formatSize, MISSING, milliseconds, percent, significant } from '../format/units';
import { rebin } from '../model/distribution';
import { bdpBytes, beyondQueueBytes, queueAt } from '../model/windows';
import { ofInterval, ofSpan, type Reading } from '../model/readings';
import { Controls } from './controls';
import { PacketCard } from './packet';
import type { Actions, Panel, Snapshot } from './panel';
import { section } from './parts';
import { chartBox, saveMenu } from './save';
import { docs, term } from './terms';

const READINGS = [
  ['p50', 'p50'],
  ['p99', 'p99'],
  ['max', 'largest'],
  ['limit', 'limit'],
  ['drops', 'drops'],
] as const;
type ReadingName = (typeof READINGS)[number][0];

/** Maximum number of rows in the distribution next to the chart. */
const ROWS = 64;

/** Creates the key to the lines: the class of each line's look, and its description. */
function lineKey(lines: readonly (readonly [string, string])[]): HTMLElement {
  const line = ([kind, words]: readonly [string, string]): HTMLElement => h('span', {}, h('i', { class: `line ${kind}`, 'aria-hidden': 'true' }), words);
  return h('small', { class: 'line-key' }, ...lines.map(line));
}

/** Returns the sender's address of a flow, or its number if the address is unknown. */
function flowName(s: Snapshot, id: string): string {
  return s.link?.estimate?.flows.find((f) => f.id === id)?.src ?? `flow ${id}`;
}

export class Recorder implements Panel {
  readonly element: HTMLElement;
  private readonly occupancy: OccupancyChart;
  private readonly marginal = new DistributionChart(() => ({ label: `occupancy, ${this.unitLabel()}`, factor: () => this.factor, wanted: 5 }));
  private readonly utilisation: Plot;
  private utilisationShown: [number, number] = [0, 1.02];
  private readonly loss: Plot;
  private readonly delay: Plot;
  private readonly readings = new Map<ReadingName, HTMLElement>();
  private readonly when = h('span', { class: 'soft when' });
  private readonly note = h('p', { class: 'soft small kept hold-note' });
  private readonly controls: Controls;
  private readonly values = {
    utilisation: h('b', {}, MISSING),
    loss: h('b', {}, MISSING),
    delay: h('b', {}, MISSING),
    cwnd: h('b', {}, MISSING),
    sum: h('b', {}, MISSING),
  };
  /** The worst interval of the span shown. */
  private readonly worst = { utilisation: h('small'), loss: h('small'), delay: h('small') };
  private readonly cwnd: FlowWindowsChart;
  private readonly sum: Plot;
  private readonly sumNote = h('small');
  private readonly windowsKey = lineKey([['solid', 'cwnd'], ['dotted', 'in flight']]);
  private readonly packetsKey = lineKey([['dots', 'cwnd of each packet']]);
  private readonly flowKey = h('ul', { class: 'flow-key' });
  private readonly packet: PacketCard;
  private pointed: number | null = null;
  private readonly summary = h('p', { class: 'visually-hidden' });
  private state: Snapshot | null = null;
  private cursor: number | null = null;
  private offset = 0;
  private frame: DistributionFrame = { maxBytes: 1, top: 8, height: 290 };
  private factor = 1e-3;

  constructor(actions: Actions) {
    this.controls = new Controls(actions);
    const legend = h('dl', { class: 'row wrap readings' });
    for (const [name, label] of READINGS) {
      const value = h('dd', {}, MISSING);
      this.readings.set(name, value);
      legend.append(h('div', { class: `row key-${name}` }, h('dt', { class: 'row small' }, label), value));
    }

    const onSelect = (from: number, to: number): void => actions.hold(from, to);
    const onCursor = (i: number | null): void => {
      if (i === this.cursor) return;
      this.cursor = i;
      this.showReadings();
    };
    this.occupancy = new OccupancyChart({
      factor: () => this.factor,
      unitLabel: () => this.unitLabel(),
      onSelect,
      onCursor,
      onScale: (maxBytes, top, height) => {
        this.frame = { maxBytes, top, height };
        this.showDistribution();
      },
      onPacket: (i) => {
        this.pointed = i;
        this.cwnd.showPacket(i);
        this.showPacket();
      },
    });
    this.cwnd = new FlowWindowsChart(onSelect);
    this.sum = sumChart(() => this.factor, `bytes, ${this.unitLabel()}`, onSelect);
    this.utilisation = utilisationStrip(() => this.utilisationShown, { onSelect, onCursor });
    this.loss = lossStrip({ onSelect, onCursor });
    this.delay = delayStrip({ onSelect, onCursor });

    this.packet = new PacketCard((by) => this.step(by));
    const channel = (name: keyof typeof this.values, plot: Plot, label: (Node | string)[], hint: string, ...more: HTMLElement[]): HTMLElement[] => [
      chartBox(plot),
      h('div', { class: `reading reading-${name}`, title: hint }, h('span', {}, ...label), this.values[name], ...more),
    ];
    this.element = section(
      'recorder',
      'Queue occupancy',
      [docs('reference/console.html#queue-occupancy', '?', 'What these charts show'), this.when, this.controls.element],
      legend,
      this.summary,
      h(
        'div',
        { class: 'channels' },
        chartBox(this.occupancy.plot),
        h('div', { class: 'marginal-cell' }, this.marginal.element, saveMenu(this.marginal)),
        ...channel('cwnd', this.cwnd.plot, [term('cwnd'), ' of chosen flows'], 'Crosses are drops, rings CE marks. Choose flows in the table below.', this.windowsKey, this.packetsKey, this.flowKey),
        ...channel('sum', this.sum, ['W; Q + ', term('BDP')], 'While the link is full, what probed flows have in flight is what waits and what is on the way', lineKey(SUM_SIGNS.map((l) => [l.ink, l.words])), this.sumNote),
        ...channel('utilisation', this.utilisation, ['utilisation'], 'Bytes that left over capacity', this.worst.utilisation),
        ...channel('loss', this.loss, ['loss'], 'Drops over arrivals', this.worst.loss),
        ...channel('delay', this.delay, ['queueing delay, ', term('p99')], 'The chart shows p50, p99 and largest', this.worst.delay),
      ),
      this.packet.element,
      this.note,
    );
  }

  private unitLabel(): string {
    return axisUnit(this.state?.unit ?? 'bytes');
  }

  private showDistribution(): void {
    const s = this.state;
    if (!s) return;
    const { maxBytes } = this.frame;
    const d = s.shown.distribution;
    // Whole packets per row: otherwise rows with one packet size more would stand out.
    const row = Math.ceil(maxBytes / ROWS / s.context.packetBytes) * s.context.packetBytes;
    const rows = Math.max(1, Math.ceil(maxBytes / row));
    const shown = d ? { ...d, bins: rebin(d.bins, rows * row, rows) } : null;
    const size = (b: number | null): string => formatSize(s.unit, b, s.context);
    const words = d
      ? `Distribution of the occupancy met by arrivals: median ${size(d.p50)}, 99th percentile ${size(d.p99)}, largest ${size(d.max)}.`
      : 'No distribution yet.';
    this.marginal.set(this.frame, shown, s.limit, words);
  }

  /** Forgets the scales, for another port. */
  reset(): void {
    this.occupancy.reset();
    this.cwnd.plot.reset();
    this.sum.reset();
    this.loss.reset();
    this.delay.reset();
    this.cursor = null;
  }

  update(s: Snapshot): void {
    const unitChanged = this.state?.unit !== s.unit || this.state?.context.packetBytes !== s.context.packetBytes;
    this.state = s;
    this.factor = axisFactor(s.unit, s.context);
    if (unitChanged) {
      this.occupancy.relabel();
      this.sum.relabel(1, `bytes, ${this.unitLabel()}`);
    }
    const { held, from, to, recording, packets } = s.shown;
    attr(this.element, 'data-stale', s.fresh.level === 'stale' || s.fresh.level === 'lost');
    attr(this.element, 'data-held', held);
    this.controls.update(s);
    const margin = recording.step;
    const series = recording.series;
    const start = series.indexAt(from - 2 * margin);
    const end = held ? Math.min(series.length, series.indexAt(to + 2 * margin) + 1) : series.length;
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
      from,
      to,
      packets,
      colours: s.colours,
      flowName: (id) => flowName(s, id),
    });
    this.showWindows(s);
    const targets = s.link?.targets;
    const utilisation = col('utilisation');
    this.utilisationShown = utilisationRange(time, utilisation, from, to);
    this.utilisation.set([time, utilisation], from, to, { target: targets?.utilisation });
    this.loss.set([time, col('loss')], from, to, { target: targets?.lossRate });
    this.delay.set([time, col('delayMax'), col('delayP99'), col('delayP50')], from, to, { target: targets?.delayMs });
    this.showDistribution();
    text(this.note, held ? s.shown.packetsNote : 'Drag across a chart to hold that span and see its packets.');
    this.showReadings();
  }

  private showWindows(s: Snapshot): void {
    const { windows: w, from, to, recording } = s.shown;
    const { packets } = s.shown;
    this.cwnd.set({ time: w.time, flows: w.flows, colours: s.colours, flowName: (id) => flowName(s, id), packetBytes: s.context.packetBytes, from, to, packets });
    attr(this.windowsKey, 'hidden', packets !== null);
    attr(this.packetsKey, 'hidden', packets === null);
    const bdp = s.link ? bdpBytes(s.link) : null;
    const queue = queueAt(recording.series, w.time, w.stepSeconds);
    const beyond = s.link ? beyondQueueBytes(s.link, s.context.packetBytes) : null;
    const queuePlusBdp = queue.map((q) => (q === null || beyond === null ? null : q + beyond));
    this.sum.set([w.time, queuePlusBdp, w.inFlightSumBytes], from, to);
    const size = (b: number | null | undefined): string => formatSize(s.unit, b ?? null, s.context);
    const i = w.time.findLastIndex((t) => t < to);
    const known = w.flows.filter((f) => f.cwndPkts.some((v) => v !== null)).length;
    text(this.values.cwnd, `${known} of ${w.flows.length}`);
    text(this.values.sum, i < 0 ? MISSING : `${size(w.inFlightSumBytes[i])}; ${size(queuePlusBdp[i])}`);
    text(this.sumNote, i < 0 ? '' : `${w.probedFlows[i] ?? 0} of ${w.dataFlows[i] ?? 0} flows probed; BDP ${size(bdp)}`);
    keyed(
      this.flowKey,
      w.flows,
      (f) => f.id,
      () => h('li', { class: 'row' }, h('span', { class: 'swatch', 'aria-hidden': 'true' }), h('span')),
      (li, f) => {
        const [swatch, words] = Array.from(li.children);
        const last = f.cwndPkts.findLast((v) => v !== null);
        if (swatch) attr(swatch, 'data-flow', ((s.colours.get(f.id) ?? 7) % 8) + 1);
        if (words) text(words, `${flowName(s, f.id)}${last == null ? '' : `: ${last}`}`);
      },
    );
    this.showPacket();
  }

  private showPacket(): void {
    if (this.state) this.packet.update(this.state, this.pointed);
  }

  /** Shows the packet before or after the current one. */
  private step(by: number): void {
    const n = this.state?.shown.packets?.time.length ?? 0;
    if (n === 0) return;
    const to = this.pointed === null ? (by > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, this.pointed + by));
    this.occupancy.showPacket(to);
  }

  private showReadings(): void {
    const s = this.state;
    if (!s) return;
    const { from, to, recording } = s.shown;
    const series = recording.series;
    const i = this.cursor === null ? null : this.cursor + this.offset;
    const r = i === null ? ofSpan(series, from, to) : ofInterval(series, i);
    const size = (b: number | null): string => formatSize(s.unit, b, s.context);
    const set = (name: ReadingName, value: string): void => {
      const e = this.readings.get(name);
      if (e) text(e, value);
    };
    set('p50', size(r.occP50.value));
    set('p99', size(r.occP99.value));
    set('max', size(r.occMax.value));
    set('limit', r.limit !== null ? size(r.limit) : !r.known ? MISSING : s.limit === null ? 'none' : size(s.limit));
    set('drops', count(r.drops));
    const put = (name: 'utilisation' | 'loss' | 'delay', { value, worst }: Reading, format: (v: number | null) => string): void => {
      text(this.values[name], format(value));
      text(this.worst[name], worst === null ? '' : `worst ${format(worst)}`);
    };
    put('utilisation', r.utilisation, percent);
    put('loss', r.loss, percent);
    put('delay', r.delayP99, milliseconds);
    const t = i === null ? undefined : series.time[i];
    const clock = t === undefined ? '' : clockText(t);
    const span = `mean over ${significant(to - from, 3)} s`;
    text(this.when, t === undefined ? span : `${t.toFixed(recording.step < 0.1 ? 2 : 1)} s${clock ? `, ${clock}` : ''}`);
    if (i === null) {
      text(
        this.summary,
        `Over the ${significant(to - from, 3)} s shown: median ${size(r.occP50.value)}, 99th percentile ${size(r.occP99.value)}, limit ${size(r.limit)}, ` +
          `utilisation ${percent(r.utilisation.value)}, loss ${percent(r.loss.value)}, ${count(r.drops)} drops.`,
      );
    }
  }
}
