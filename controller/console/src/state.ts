// SPDX-License-Identifier: Apache-2.0
// What the page knows. Nothing here fetches or draws.

import type { SizeUnit } from './format/units';
import type { Freshness } from './model/freshness';
import { limitBytes, linkKey, sizeContext } from './model/links';
import { Recording } from './model/recording';
import { Series } from './model/series';
import type { AdviceState, AuditEntry, CurvePoint, Distribution, EstimateColumn, Link, Packets, Rule, Status } from './model/types';
import { ESTIMATES, estimateColumns } from './model/types';
import type { Shown, Snapshot } from './views/panel';

/** Rows of history of the estimates kept per port: an hour at one per second. */
const ESTIMATE_ROWS = 3600;
/** Ports whose history is kept. */
const MOST_LINKS = 64;
/** Changes listed. */
const MOST_CHANGES = 100;

/** A span that the operator holds, and what was fetched of it. */
export interface Held {
  from: number;
  to: number;
  recording: Recording | null;
  distribution: Distribution | null;
  packets: Packets | null;
  packetsDistribution: Distribution | null;
  note: string;
}

export class State {
  links: Link[] = [];
  selected = '';
  recording = new Recording(30);
  advice: AdviceState | null = null;
  rules: readonly Rule[] = [];
  curve: CurvePoint[] = [];
  status: Status | null = null;
  changes: AuditEntry[] = [];
  unit: SizeUnit = 'bytes';
  /** Width of the live window, seconds. */
  window = 30;
  held: Held | null = null;
  /** Of the last while. */
  distribution: Distribution | null = null;
  private readonly estimates = new Map<string, Series<EstimateColumn>>();

  get link(): Link | null {
    return this.links.find((l) => linkKey(l) === this.selected) ?? null;
  }

  /** Chooses a port and clears what was shown of the previous one. */
  select(key: string): void {
    this.selected = key;
    this.recording = new Recording(this.window);
    this.distribution = null;
    this.advice = null;
    this.rules = [];
    this.curve = [];
    this.held = null;
  }

  /** Takes the links of this second. */
  update(links: Link[]): void {
    const kept = links.slice(0, MOST_LINKS);
    for (const l of kept) this.remember(l);
    this.links = kept;
    // The advice of this second; its rules come with the next poll.
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

  /** Keeps the estimates of every port, also of those not shown. */
  private remember(l: Link): void {
    if (!l.estimate) return;
    const key = linkKey(l);
    let s = this.estimates.get(key);
    // Another zero of time: the switch or the collector restarted.
    const known = this.links.find((o) => linkKey(o) === key);
    const backwards = s !== undefined && s.lastTime !== null && l.estimate.to < s.lastTime - 1;
    if (s && (backwards || (known && known.startNs !== l.startNs))) {
      s.clear();
      if (key === this.selected) {
        this.recording = new Recording(this.window);
        this.distribution = null;
        this.held = null;
      }
    }
    if (!s) {
      if (this.estimates.size >= MOST_LINKS) return;
      s = new Series(estimateColumns(), ESTIMATE_ROWS);
      this.estimates.set(key, s);
    }
    const row: Partial<Record<EstimateColumn, number | null>> = {};
    for (const n of ESTIMATES) {
      const e = l.estimate.values[n];
      row[n] = e?.value ?? null;
      row[`${n}Low`] = e?.low ?? null;
      row[`${n}High`] = e?.high ?? null;
    }
    s.push(l.estimate.to, row);
  }

  private shown(link: Link | null): Shown {
    const held = this.held;
    const now = this.recording.series.lastTime ?? link?.now ?? 0;
    // In its first seconds a record fills from the left.
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
    };
  }

  /** What panels show now. */
  snapshot(fresh: Freshness, csv: string | null): Snapshot {
    const link = this.link;
    return {
      links: this.links,
      link,
      fresh,
      status: this.status,
      limit: link ? limitBytes(link) : null,
      advised: this.advice?.advice.advisedBytes ?? null,
      advice: this.advice,
      rules: this.rules,
      curve: this.curve,
      csv,
      changes: this.changes,
      history: this.estimates.get(this.selected) ?? null,
      shown: this.shown(link),
      unit: this.unit,
      context: sizeContext(link),
    };
  }
}
