// SPDX-License-Identifier: Apache-2.0
// Reads links, in full and in brief.

import type * as api from './generated';
import { advice, limit, targets } from './advice';
import { linkEstimate, quantiles } from './estimate';
import { fields, list, number, string } from './json';
import { verdict } from './verdict';

const NS = 1e9;

function watching(v: unknown, startNs: number): string {
  if (v === null || v === undefined) return '';
  const to = number(fields<api.Trial>(v).to_ns);
  if (to === null) return 'The effect of a change made before a restart is measured once telemetry comes.';
  return `The effect of the last change is measured until ${((to - startNs) / NS).toFixed(0)} s.`;
}

function milliseconds(seconds: unknown): number | null {
  const s = number(seconds);
  return s === null ? null : s * 1000;
}

function recent(v: unknown) {
  const o = fields<api.Recent>(v);
  return {
    utilisation: number(o.utilisation),
    lossRate: number(o.loss_rate),
    delayMs: quantiles(o.delay_ms),
    occupancyBytes: quantiles(o.occupancy_bytes),
    packets: number(o.packets),
  };
}

/** Reads the fields that links in brief and in full have in common. */
function common(v: unknown) {
  const o = fields<api.LinkSummary>(v);
  const node = number(o.node);
  const port = number(o.port);
  if (node === null || o.port === undefined) return null;
  return {
    node,
    /** Null if reports do not tell it. */
    port,
    queue: number(o.queue) ?? 0,
    name: string(o.name),
    capacityBps: number(o.capacity_bps) || null,
    stale: o.stale === true,
    /** Age of the newest report of the link. */
    ageMs: milliseconds(o.age_s),
    /** As read from the switch; null without a switch. */
    limit: limit(o.limit),
    /** The limit that the reports state. */
    reportedLimitBytes: number(o.reported_limit_bytes) || null,
    recent: recent(o.recent),
    targets: targets(o.targets),
  };
}

export type Brief = NonNullable<ReturnType<typeof brief>>;

/** Reads a link in brief, for the overview. */
function brief(v: unknown) {
  const l = common(v);
  const o = fields<api.LinkSummary>(v);
  return l && { ...l, answer: string(o.answer), advisedBytes: number(o.advised_bytes), nB: number(o.n_b) };
}

/** Reads the links in brief of an update; null if it has every link in full. */
export function briefs(v: unknown): Brief[] | null {
  const others = list(fields<api.Update>(v).others);
  return others.length === 0 ? null : others.map(brief).filter((b): b is Brief => b !== null);
}

export type Link = NonNullable<ReturnType<typeof link>>;

/** Reads one egress port as the controller knows it now. Times are seconds since `startNs`. */
export function link(v: unknown) {
  const l = common(v);
  const o = fields<api.Link>(v);
  const startNs = number(o.capture_start_ns) ?? 0;
  return l && {
    ...l,
    /** Switch time of the first interval. */
    startNs,
    startUnixMs: number(o.capture_start_unix_ms),
    /** Bytes per unit of the occupancy in the switch's reports. */
    depthUnitBytes: number(o.depth_unit_bytes) ?? 1,
    /** Time of the newest telemetry. */
    now: ((number(o.now_ns) ?? startNs) - startNs) / NS,
    /** Age of the newest report of any link of its node. */
    nodeAgeMs: milliseconds(o.node_age_s),
    /** How late telemetry arrives. */
    lagMs: milliseconds(o.lag_s),
    estimate: linkEstimate(o.estimate, startNs),
    advice: advice(o.advice),
    verdict: verdict(o.verdict),
    /** The change that is being watched, in words; empty if there is none. */
    watching: watching(o.watching, startNs),
  };
}

export function links(v: unknown): Link[] {
  return list(fields<api.Links>(v).links)
    .map(link)
    .filter((l): l is Link => l !== null);
}
