// SPDX-License-Identifier: Apache-2.0
// A span that the operator holds: its finest series, its distribution, its windows, and its
// packets, which are shown or kept for a closer look.

import { get } from './api/client';
import { distribution, packets, series, spanOf, windows } from './api/over-time';
import { distributionOfPackets } from './model/distribution';
import { keep, keptWords, SLICE, type Span } from './model/keeping';
import { linkKey, place } from './model/links';
import { Recording } from './model/recording';
import { WindowRecord } from './model/windows';
import type { Link, Packets } from './model/types';
import type { Held, State } from './state';

/** Longest span shown packet by packet, seconds. */
const PACKET_SPAN = 2.5;
/** Shortest span, seconds: some packets at 100 Mb/s. */
const MIN_SPAN = 0.001;

export class Holding {
  /** The span whose packets are being read to be kept. */
  private keeping: Held | null = null;

  constructor(
    private readonly state: State,
    private readonly draw: () => void,
  ) {}

  /** Holds a span, and fetches its finest series, its distribution and its packets. */
  async hold(from: number, to: number): Promise<void> {
    const link = this.state.link;
    if (!link || !(to > from)) return;
    const floor = to - from < MIN_SPAN;
    if (floor) {
      const middle = (from + to) / 2;
      [from, to] = [middle - MIN_SPAN / 2, middle + MIN_SPAN / 2];
    }
    const short = to - from <= PACKET_SPAN;
    const note = short ? 'Held. Reading packets.' : LONG;
    // Until the span's own series has arrived, the previous one shows it.
    const before = this.state.held;
    const held: Held = { from, to, recording: before?.recording ?? null, distribution: before?.distribution ?? null, packets: null, packetsDistribution: null, note, windows: before?.windows ?? null };
    this.state.held = held;
    this.draw();
    const closest = floor ? ` This is the closest zoom, ${MIN_SPAN * 1000} ms.` : '';
    // If something cannot be read, the data that is already there stays.
    await Promise.allSettled([this.series(link, held), this.windows(link, held), short ? this.packets(link, held, closest) : this.keepPackets(link, held)]);
  }

  private async series(link: Link, held: Held): Promise<void> {
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
  }

  /** Fetches the windows of the chosen flows within the held span. */
  private async windows(link: Link, held: Held): Promise<void> {
    const flows = this.state.chosen;
    // With a margin: a line needs its ends.
    const around = { from: held.from - 1, to: held.to + 1 };
    const answer = await get('/links/{node}/{port}/windows', place(link), { ...spanOf(link, around), max_points: 1000, flows: flows.join(',') });
    const record = new WindowRecord(flows);
    record.add(windows(answer, link.startNs));
    if (this.state.held !== held || record.columns.time.length === 0) return;
    held.windows = record;
    this.draw();
  }

  private async read(link: Link, span: Span): Promise<Packets> {
    return packets(await get('/links/{node}/{port}/packets', place(link), { ...spanOf(link, span), max_packets: SLICE }), link.startNs);
  }

  /**
   * Reads the packets of a span too long to show them, so that they can be shown after the
   * collector has forgotten them. Continues while the view zooms in, and ends when another long
   * span is held, or none.
   */
  private async keepPackets(link: Link, held: Held): Promise<void> {
    // The files of a finished run forget nothing.
    if (this.state.status?.finished) return;
    this.keeping = held;
    const { shelf } = this.state;
    for await (const kept of keep(shelf, held, link.recent.packets ?? 0, (span) => this.read(link, span))) {
      if (this.keeping !== held || this.state.held === null || linkKey(link) !== this.state.selected) return;
      held.note = `${LONG} ${keptWords(kept, held)}`;
      if (this.state.held === held) this.draw();
    }
  }

  private async packets(link: Link, held: Held, closest: string): Promise<void> {
    const { shelf } = this.state;
    const kept = shelf.find(held.from, held.to);
    try {
      const p = kept ?? (await this.read(link, held));
      if (!kept && linkKey(link) === this.state.selected) shelf.add(held.from, held.to, p);
      if (p.time.length === 0) {
        held.note = `Held. ${noPackets(p.oldest, held)}${closest}`;
      } else {
        held.packets = p;
        held.packetsDistribution = distributionOfPackets(p);
        const drops = p.dropped.reduce((n, d) => n + d, 0);
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

const LONG = `Held. Choose ${PACKET_SPAN} s or less to see single packets.`;

function noPackets(oldest: number | null, held: Span): string {
  if (oldest === null) return 'The collector remembers no packets of this port; intervals are shown.';
  if (oldest > held.to) return `The collector remembers packets from ${oldest.toFixed(1)} s on; of this span intervals are shown.`;
  return 'No packet arrived in this span.';
}
