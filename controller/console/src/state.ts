// SPDX-License-Identifier: Apache-2.0
// State of the page. Nothing here fetches or draws.

import type { SizeUnit } from './format/units';
import type { Freshness } from './model/freshness';
import { limitBytes, linkKey, sizeContext } from './model/links';
import { Trails } from './model/trail';
import { PacketShelf } from './model/packet-shelf';
import { flowColours, PACKET_BYTES } from './model/packets';
import { Recording } from './model/recording';
import { Series } from './model/series';
import { CounterWindow, LimitWatch } from './model/trust';
import { firstChoice, MOST_CHOSEN, WindowRecord } from './model/windows';
import type { EstimateRow } from './api/over-time';
import type { AdviceState, AuditEntry, Brief, CurvePoint, Distribution, Link, Packets, Phase, Rule, Status } from './model/types';
import { type EstimateColumn, estimateColumns, estimateRow } from './model/estimates';
import type { Shown, Snapshot } from './views/panel';

/** Rows in the history of the shown port's estimates: an hour at one per second, and as many before. */
const ESTIMATE_ROWS = 7200;
/** Memory for the packets of held spans, bytes: two million, four minutes of 100 Mb/s in full packets. */
const PACKET_MEMORY = 88e6;
/** Maximum number of changes listed. */
const MOST_CHANGES = 100;

/** A span that the operator holds, and the data fetched for it. */
export interface Held {
  from: number;
  to: number;
  recording: Recording | null;
  distribution: Distribution | null;
  packets: Packets | null;
  packetsDistribution: Distribution | null;
  note: string;
  windows: WindowRecord | null;
}

export class State {
  links: Link[] = [];
  overview: Brief[] = [];
  selected = '';
  recording = new Recording(30);
  advice: AdviceState | null = null;
  rules: readonly Rule[] = [];
  /** Curve of the verdict: the expected outcome over the limit. */
  curve: CurvePoint[] = [];
  status: Status | null = null;
  phases: readonly Phase[] = [];
  changes: AuditEntry[] = [];
  unit: SizeUnit = 'bytes';
  /** Width of the live window, seconds. */
  window = 30;
  held: Held | null = null;
  /** Distribution over the last seconds. */
  distribution: Distribution | null = null;
  readonly counters = new CounterWindow();
  readonly limits = new LimitWatch();
  /** Queue of every port over the last minutes. */
  readonly trails = new Trails();
  readonly shelf = new PacketShelf(Math.floor(PACKET_MEMORY / PACKET_BYTES));
  /** Flows chosen by the operator; null if none was chosen. */
  private picked: string[] | null = null;
  private first: string[] = [];
  windows = new WindowRecord([]);
  /** Estimates of the port shown; null until its history has been read. */
  history: Series<EstimateColumn> | null = null;

  get link(): Link | null {
    return this.links.find((l) => linkKey(l) === this.selected) ?? null;
  }

  /** Chooses a port, and clears the data of the previous one. */
  select(key: string): void {
    this.selected = key;
    this.advice = null;
    this.rules = [];
    this.curve = [];
    this.picked = null;
    this.first = [];
    this.forget();
  }

  /** Clears everything that has a time. */
  private forget(): void {
    this.history = null;
    this.recording = new Recording(this.window);
    this.windows = new WindowRecord([]);
    this.shelf.clear();
    this.distribution = null;
    this.held = null;
  }

  /** Returns the flows whose windows are shown. */
  get chosen(): string[] {
    if (this.picked) return this.picked;
    // The first choice stays as long as its flows exist, even if others grow larger.
    const flows = this.link?.estimate?.flows ?? [];
    const still = this.first.length > 0 && this.first.every((id) => flows.some((f) => f.id === id));
    if (!still && flows.length > 0) this.first = firstChoice(flows);
    return this.first;
  }

  choose(ids: readonly string[]): void {
    this.picked = ids.slice(-MOST_CHOSEN);
  }

  /** Returns the operator's choice of flows, for the address of the page. */
  get pickedFlows(): readonly string[] | null {
    return this.picked;
  }

  /** Takes the links of this second in full, and all links in brief. */
  update(links: Link[], overview: Brief[], nowMs: number): void {
    this.trails.add(overview, nowMs);
    for (const l of links) {
      this.limits.add(linkKey(l), l);
      this.remember(l);
    }
    this.links = links;
    this.overview = overview;
    // The update has this second's advice without its rules, which come with the next poll.
    const brief = this.link?.advice;
    if (this.advice && brief) this.advice = { ...this.advice, advice: { ...brief, rules: [...this.rules] } };
  }

  addChange(entry: AuditEntry): void {
    this.setChanges([entry, ...this.changes]);
  }

  setChanges(entries: AuditEntry[]): void {
    this.changes = entries.slice(0, MOST_CHANGES);
  }

  setAdvice(state: AdviceState | null): void {
    this.advice = state;
    if (state && state.advice.rules.length > 0) this.rules = state.advice.rules;
  }

  /** Takes the controller's history of estimates; newer estimates stay. */
  setHistory(rows: readonly EstimateRow[]): void {
    const since = this.history;
    const s = new Series(estimateColumns(), ESTIMATE_ROWS);
    for (const r of rows) s.push(r.time, r.row);
    since?.time.forEach((t, i) => {
      if (s.lastTime === null || t > s.lastTime) s.push(t, Object.fromEntries(estimateColumns().map((c) => [c, since.column(c)[i] ?? null])));
    });
    this.history = s;
  }

  /** Adds this second's estimates of the port shown; those of a finished run cover all of it. */
  private remember(l: Link): void {
    if (!l.estimate || linkKey(l) !== this.selected || !this.status || this.status.finished) return;
    // Time has another zero: the switch or the collector restarted.
    const known = this.link;
    const last = this.history?.lastTime ?? null;
    if ((last !== null && l.estimate.to < last - 1) || (known && known.startNs !== l.startNs)) this.forget();
    this.history ??= new Series(estimateColumns(), ESTIMATE_ROWS);
    const { values } = l.estimate;
    this.history.push(l.estimate.to, estimateRow((n) => values[n]));
  }

  private shown(link: Link | null): Shown {
    const held = this.held;
    const now = this.recording.series.lastTime ?? link?.now ?? 0;
    // In its first seconds, a record fills from the left.
    const to = held?.to ?? Math.max(this.window, now + this.recording.step);
    return {
      recording: held?.recording ?? this.recording,
      from: held?.from ?? to - this.window,
      to,
      window: this.window,
      held: held !== null,
      packets: held?.packets ?? null,
      packetsNote: held?.note ?? '',
      distribution: held?.packets ? held.packetsDistribution : held ? held.distribution : this.distribution,
      windows: (held?.windows ?? this.windows).columns,
    };
  }

  /** Returns the state that the panels show now. */
  snapshot(fresh: Freshness): Snapshot {
    const link = this.link;
    const chosen = this.chosen;
    return {
      overview: this.overview,
      trails: this.trails,
      link,
      fresh,
      status: this.status,
      finished: this.status?.finished != null,
      limit: link ? limitBytes(link) : null,
      advised: this.advice?.advice.advisedBytes ?? null,
      advice: this.advice,
      rules: this.rules,
      verdict: link?.verdict ? { ...link.verdict, curve: this.curve } : null,
      changes: this.changes,
      phases: this.phases,
      history: this.history,
      shown: this.shown(link),
      chosen,
      colours: flowColours(chosen, this.held?.packets ?? null),
      unit: this.unit,
      context: sizeContext(link),
    };
  }
}
