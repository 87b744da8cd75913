// SPDX-License-Identifier: Apache-2.0
// Fetches what the event stream does not bring: series, distribution, packets,
// advice, counters.

import { adviceState, changes, curve, phases, status } from './api/adapt';
import { get } from './api/client';
import { distribution, estimateHistory, packets, series, windows } from './api/over-time';
import { distributionOfPackets } from './model/distribution';
import { linkKey } from './model/links';
import { Recording } from './model/recording';
import { counterSample } from './model/trust';
import { WindowRecord } from './model/windows';
import type { Link } from './model/types';
import type { Held, State } from './state';

/** Longest span shown packet by packet, seconds. */
const PACKET_SPAN = 2.5;
/** Shortest span, seconds: some packets at 100 Mb/s. */
const MIN_SPAN = 0.001;
const MAX_PACKETS = 50_000;
/** Most packets read of a span that is held but too long to show them. */
const MOST_KEPT = 200_000;
/** How far back the distribution beside the live chart reaches, seconds. */
const DISTRIBUTION_S = 60;
export const CURVE_POINTS = 60;

const place = (l: Link) => ({ node: l.node, port: l.port });

export class Fetching {
  private loadingSeries = false;
  private loadingWindows = false;
  private polling = false;
  private pollAgain = false;

  constructor(
    private readonly state: State,
    private readonly draw: () => void,
    private readonly isLive: () => boolean,
  ) {}

  /** Fetches what is new of the chosen port, at the resolution of the window. */
  async series(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link || this.loadingSeries || s.held) return;
    this.loadingSeries = true;
    const recording = s.recording;
    const target = recording.matches(s.window) ? recording : new Recording(s.window);
    const key = s.selected;
    try {
      const query = target.query(link.startNs, link.now);
      if (!query) return;
      target.add(series(await get('/links/{node}/{port}/series', place(link), { ...query }), link.startNs));
      // Shown only when it is there: no blank chart while it loads.
      if (recording === s.recording && key === s.selected) {
        s.recording = target;
        this.draw();
      }
    } catch {
      // The state of the connection is shown by the event stream.
    } finally {
      this.loadingSeries = false;
    }
    if (!s.recording.matches(s.window) && key === s.selected && this.isLive()) void this.series();
  }

  /** Windows of the chosen flows: what is new, all of it where others were chosen. */
  async windows(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link || this.loadingWindows || s.held) return;
    const flows = s.chosen;
    const same = flows.length === s.windows.flows.length && flows.every((f, i) => s.windows.flows[i] === f);
    const record = same ? s.windows : new WindowRecord(flows);
    const key = s.selected;
    const since = record.lastTime ?? link.now - 1.2 * Math.max(s.window, 30);
    this.loadingWindows = true;
    try {
      const from = Math.max(0, since - (record.columns.stepSeconds || 0) / 2);
      const span = spanOf(link, { from, to: link.now });
      record.add(windows(await get('/links/{node}/{port}/windows', place(link), { ...span, max_points: 2000, flows: flows.join(',') }), link.startNs));
      if (key === s.selected) {
        s.windows = record;
        this.draw();
      }
    } catch {
      // The state of the connection is shown by the event stream.
    } finally {
      this.loadingWindows = false;
    }
  }

  /** The estimates that the controller keeps of the chosen port. */
  async history(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link) return;
    try {
      const answer = await get('/links/{node}/{port}/estimates', place(link), { max_points: 3600 });
      if (linkKey(link) !== s.selected) return;
      s.setHistory(estimateHistory(answer, link.startNs));
      this.draw();
    } catch {
      // An older controller keeps none: it begins here.
    }
  }

  /** Advice, counters, distribution of the chosen port. */
  async poll(): Promise<void> {
    if (this.polling) {
      this.pollAgain = true;
      return;
    }
    this.polling = true;
    try {
      await Promise.allSettled([...this.ofController(), ...this.ofLink()]);
      this.draw();
    } finally {
      this.polling = false;
      if (this.pollAgain) {
        this.pollAgain = false;
        void this.poll();
      }
    }
  }

  private ofController(): Promise<void>[] {
    const s = this.state;
    return [
      get('/status', {}, {}).then((a) => {
        s.status = status(a);
        const sample = counterSample(s.status, performance.now());
        if (sample) s.counters.add(sample);
      }),
      get('/changes', {}, {}).then((a) => s.setChanges(changes(a))),
    ];
  }

  /** Named spans: all of them, with what was estimated over each. */
  async phases(): Promise<void> {
    try {
      this.state.phases = phases(await get('/phases', {}, {}));
      this.draw();
    } catch {
      // They come with the next one that starts or ends.
    }
  }

  private ofLink(): Promise<void>[] {
    const s = this.state;
    const link = s.link;
    if (!link) return [];
    const still = () => linkKey(link) === s.selected;
    return [
      get('/advice', {}, place(link)).then((a) => {
        if (still()) s.setAdvice(adviceState(a));
      }),
      get('/curve', {}, { ...place(link), points: CURVE_POINTS }).then((a) => {
        if (still()) s.curve = curve(a);
      }),
      get('/links/{node}/{port}/distribution', place(link), { last_s: DISTRIBUTION_S }).then((a) => {
        if (still()) s.distribution = distribution(a);
      }),
    ];
  }

  /** Holds a span: its finest series, its distribution, its packets. */
  async hold(from: number, to: number): Promise<void> {
    const link = this.state.link;
    if (!link || !(to > from)) return;
    const floor = to - from < MIN_SPAN;
    if (floor) {
      const middle = (from + to) / 2;
      [from, to] = [middle - MIN_SPAN / 2, middle + MIN_SPAN / 2];
    }
    const short = to - from <= PACKET_SPAN;
    const note = short ? 'Held. Reading packets.' : `Held. Choose ${PACKET_SPAN} s or less to see single packets.`;
    // Until its own series is there, the live one shows that span.
    const before = this.state.held;
    const held: Held = { from, to, recording: before?.recording ?? null, distribution: before?.distribution ?? null, packets: null, packetsDistribution: null, note, windows: before?.windows ?? null };
    this.state.held = held;
    this.draw();
    const closest = floor ? ` This is the closest zoom, ${MIN_SPAN * 1000} ms.` : '';
    await Promise.all([this.heldSeries(link, held), this.heldWindows(link, held), short ? this.heldPackets(link, held, closest) : this.keepPackets(link, held)]);
  }

  private async heldSeries(link: Link, held: Held): Promise<void> {
    try {
      const [columns, occupancy] = await Promise.all([
        get('/links/{node}/{port}/series', place(link), { ...spanOf(link, held), max_points: 2000 }),
        get('/links/{node}/{port}/distribution', place(link), spanOf(link, held)),
      ]);
      const recording = new Recording(0); // takes any step
      recording.add(series(columns, link.startNs));
      if (this.state.held !== held || recording.series.length === 0) return;
      held.recording = recording;
      held.distribution = distribution(occupancy);
      this.draw();
    } catch {
      // What is already there stays.
    }
  }

  /** Windows of the chosen flows within the held span. */
  private async heldWindows(link: Link, held: Held): Promise<void> {
    const flows = this.state.chosen;
    try {
      // A little around it: a line needs its ends.
      const around = { from: held.from - 1, to: held.to + 1 };
      const answer = await get('/links/{node}/{port}/windows', place(link), { ...spanOf(link, around), max_points: 1000, flows: flows.join(',') });
      const record = new WindowRecord(flows);
      record.add(windows(answer, link.startNs));
      if (this.state.held !== held || record.columns.time.length === 0) return;
      held.windows = record;
      this.draw();
    } catch {
      // What is already there stays.
    }
  }

  /** Reads the packets of a span too long to show them, so that they can be shown when the collector has forgotten them. */
  private async keepPackets(link: Link, held: Held): Promise<void> {
    const perSecond = link.recent.packets ?? 0;
    if (perSecond * (held.to - held.from) > MOST_KEPT || this.state.shelf.find(held.from, held.to)) return;
    try {
      const answer = await get('/links/{node}/{port}/packets', place(link), { ...spanOf(link, held), max_packets: MOST_KEPT });
      if (linkKey(link) === this.state.selected) this.state.shelf.add(held.from, held.to, packets(answer, link.startNs));
    } catch {
      // They are read again when they are to be shown.
    }
  }

  private async heldPackets(link: Link, held: Held, closest: string): Promise<void> {
    const { shelf } = this.state;
    const kept = shelf.find(held.from, held.to);
    try {
      const p = kept ?? packets(await get('/links/{node}/{port}/packets', place(link), { ...spanOf(link, held), max_packets: MAX_PACKETS }), link.startNs);
      if (!kept) shelf.add(held.from, held.to, p);
      if (p.time.length === 0) {
        held.note = `Held. ${noPackets(p.oldest, held)}${closest}`;
      } else {
        held.packets = p;
        held.packetsDistribution = distributionOfPackets(p);
        const drops = p.dropped.filter(Boolean).length;
        held.note =
          `Held. Every dot is a packet at its arrival (${p.time.length}), every cross a drop (${drops}). Point at one to see what it was.` +
          (p.truncated ? ' The span holds more packets than are shown.' : '') +
          closest;
      }
    } catch (e) {
      held.note = `Held. Packets could not be read: ${e instanceof Error ? e.message : String(e)}${closest}`;
    }
    if (this.state.held === held) this.draw();
  }
}

function spanOf(link: Link, span: { from: number; to: number }): { from_ns: number; to_ns: number } {
  return { from_ns: Math.max(0, link.startNs + span.from * 1e9), to_ns: link.startNs + span.to * 1e9 };
}

function noPackets(oldest: number | null, held: Held): string {
  if (oldest === null) return 'The collector remembers no packets of this port; intervals are shown.';
  if (oldest > held.to) return `The collector remembers packets from ${oldest.toFixed(1)} s on; of this span intervals are shown.`;
  return 'No packet arrived in this span.';
}
