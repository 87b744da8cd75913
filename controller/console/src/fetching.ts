// SPDX-License-Identifier: Apache-2.0
// Fetches what the event stream does not bring: series, distribution, packets,
// advice, counters.

import { adviceState, changes, curve, distribution, packets, series, status } from './api/adapt';
import { get } from './api/client';
import { distributionOfPackets } from './model/distribution';
import { linkKey } from './model/links';
import { Recording } from './model/recording';
import type { Link } from './model/types';
import type { Held, State } from './state';

/** Longest span shown packet by packet, seconds. */
const PACKET_SPAN = 2.5;
const MAX_PACKETS = 20_000;
/** How far back the distribution beside the live chart reaches, seconds. */
const DISTRIBUTION_S = 60;
export const CURVE_POINTS = 60;

const place = (l: Link) => ({ node: l.node, port: l.port });

export class Fetching {
  private loadingSeries = false;
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
      }),
      get('/changes', {}, {}).then((a) => s.setChanges(changes(a))),
    ];
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
    const short = to - from <= PACKET_SPAN;
    const note = short ? 'Held. Reading packets.' : `Held. Choose ${PACKET_SPAN} s or less to see single packets.`;
    // Until its own series is there, the live one shows that span.
    const held: Held = { from, to, recording: this.state.held?.recording ?? null, distribution: this.state.held?.distribution ?? null, packets: null, packetsDistribution: null, note };
    this.state.held = held;
    this.draw();
    await Promise.all([this.heldSeries(link, held), short ? this.heldPackets(link, held) : null]);
  }

  private async heldSeries(link: Link, held: Held): Promise<void> {
    const span = { from_ns: link.startNs + held.from * 1e9, to_ns: link.startNs + held.to * 1e9 };
    try {
      const [columns, occupancy] = await Promise.all([
        get('/links/{node}/{port}/series', place(link), { ...span, max_points: 2000 }),
        get('/links/{node}/{port}/distribution', place(link), span),
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

  private async heldPackets(link: Link, held: Held): Promise<void> {
    const span = { from_ns: link.startNs + held.from * 1e9, to_ns: link.startNs + held.to * 1e9 };
    try {
      const answer = await get('/links/{node}/{port}/packets', place(link), { ...span, max_packets: MAX_PACKETS });
      const p = packets(answer, link.startNs);
      if (p.time.length === 0) {
        held.note = 'Held. The collector no longer has the packets of this span; intervals are shown.';
      } else {
        held.packets = p;
        held.packetsDistribution = distributionOfPackets(p);
        const drops = p.dropped.filter(Boolean).length;
        held.note =
          `Held. Every dot is a packet at its arrival (${p.time.length}), every cross a drop (${drops}).` +
          (p.truncated ? ' The span holds more packets than are shown.' : '');
      }
    } catch (e) {
      held.note = `Held. Packets could not be read: ${e instanceof Error ? e.message : String(e)}`;
    }
    if (this.state.held === held) this.draw();
  }
}
