// SPDX-License-Identifier: Apache-2.0
// What the page shows, independent of how it travelled. `api` turns the
// controller's JSON into these. Times in seconds since the link's first interval.

import type { Assumption, FlowClass, Interval, LinkId, Regime } from '../api/generated';

export type { Assumption, FlowClass, Interval, LinkId, Regime };

export interface Quantiles {
  p50: number | null;
  p99: number | null;
  max: number | null;
}

export interface Limit {
  action: string;
  /** What acts first: the limit, or of a port that marks its threshold. */
  bytes: number | null;
  /** From here on every packet is refused; null where only the switch's own queue depth holds. */
  refusesAtBytes: number | null;
}

/** For a port that marks: the limit above the advised threshold. */
export interface Marking {
  limitBytes: number;
  limitMs: number | null;
  reason: string;
}

export interface Recent {
  utilisation: number | null;
  lossRate: number | null;
  occupancy: Quantiles;
  delayMs: Quantiles;
  packets: number | null;
  drops: number | null;
  reportsLost: number | null;
}

export interface Targets {
  utilisation: number | null;
  lossRate: number | null;
  delayMs: number | null;
  priority: string[];
}

/** One egress port as the controller knows it now. */
export interface Link extends LinkId {
  name: string;
  capacityBps: number | null;
  /** Switch time of the first interval, ns; the page's zero. */
  startNs: number;
  /** Unix time of that zero, ms; null where it is not known. */
  startUnixMs: number | null;
  /** Bytes per unit in which the switch reports occupancy. */
  depthUnitBytes: number;
  /** Newest telemetry, seconds since start. */
  now: number;
  /** Age of the newest report of the link. */
  ageMs: number | null;
  /** Of any link of its node. */
  nodeAgeMs: number | null;
  /** How late what arrives is. */
  lagMs: number | null;
  stale: boolean;
  /** As read from the switch; null without a switch. */
  limit: Limit | null;
  /** As the reports say. */
  reportedLimitBytes: number | null;
  recent: Recent;
  targets: Targets;
  estimate: LinkEstimate | null;
  advice: Advice | null;
  /** A change being watched, in words; empty when none. */
  watching: string;
}

export interface Estimate extends Interval {
  /** probed, passive, mixed, assumed */
  evidence: string;
  samples: number | null;
}

export const ESTIMATES = ['nB', 'alpha', 'delta', 'tE', 'cE'] as const;
export type EstimateName = (typeof ESTIMATES)[number];
export type EstimateColumn = EstimateName | `${EstimateName}Low` | `${EstimateName}High`;

export function estimateColumns(): EstimateColumn[] {
  return ESTIMATES.flatMap((n): EstimateColumn[] => [n, `${n}Low`, `${n}High`]);
}

export interface LinkEstimate {
  from: number;
  to: number;
  /** M as the queue counts it, bytes; null when no data packet was seen. */
  segmentBytes: number | null;
  /** Capacity in bytes of the queue, bits/s. */
  drainBps: number | null;
  regime: Regime;
  regimeWhy: string;
  values: Record<EstimateName, Estimate | null>;
  /** What is beside the five: L̄, q̂, ρ, s. */
  meanLossBurst: Estimate | null;
  rho: Estimate | null;
  utilisation: number | null;
  lossRate: number | null;
  delayMs: Quantiles;
  classes: Record<FlowClass, number>;
  flows: Flow[];
  caveats: string[];
}

export interface Flow {
  id: string;
  src: string;
  dst: string;
  protocol: string;
  cls: FlowClass;
  confidence: number | null;
  why: string;
  evidence: string;
  rateBps: number | null;
  drops: number | null;
  activeFraction: number | null;
  cwndPkts: number | null;
  srttMs: number | null;
  baseRttMs: number | null;
  control: string;
}

export interface Rule {
  id: string;
  name: string;
  bufferBytes: number | null;
  applies: boolean;
  assumptions: Assumption[];
  missing: string;
  formula: string;
  source: string;
  goals: string[];
  inputs: { name: string; value: number; unit: string }[];
}

export interface Prediction {
  utilisation: Interval | null;
  lossRate: Interval | null;
  delayMs: Interval | null;
}

export interface Observed {
  utilisation: number | null;
  lossRate: number | null;
  delayMaxMs: number | null;
}

export interface Advice {
  /** The limit, or of a port that marks its threshold. */
  advisedBytes: number | null;
  marking: Marking | null;
  rule: string;
  decidedBy: string;
  feasible: boolean;
  givenUp: string[];
  reasons: string[];
  predicted: Prediction | null;
  presentBytes: number | null;
  presentPredicted: Prediction | null;
  observed: Observed | null;
  /** Empty when the message came without them. */
  rules: Rule[];
}

/** Advice together with whether it may be applied now. */
export interface AdviceState {
  link: LinkId;
  advice: Advice;
  targets: Targets;
  canApply: boolean;
  whyNot: string;
}

/** A link in brief, for the overview. */
export interface Brief extends LinkId {
  name: string;
  capacityBps: number | null;
  stale: boolean;
  ageMs: number | null;
  limitBytes: number | null;
  advisedBytes: number | null;
  nB: number | null;
  recent: Recent;
  targets: Targets;
}

export interface CurvePoint {
  bufferBytes: number;
  predicted: Prediction;
}

export interface AuditEntry {
  id: string;
  unixMs: number | null;
  link: string;
  what: string;
  origin: string;
  why: string;
  outcome: string;
  ok: boolean | null;
}

export interface Collector {
  address: string;
  connected: boolean | null;
  problem: string;
}

/** A finished run in the place of a live one. */
export interface FinishedRun {
  capture: string;
  startedUnixMs: number | null;
  seconds: number;
  /** Part of it that was read, 0 to 1. */
  read: number;
  notes: string[];
  problem: string;
}

/** A named span of a run. */
export interface Phase {
  name: string;
  running: boolean;
  /** Of each port it has. */
  links: PhaseLink[];
}

export interface PhaseLink extends LinkId {
  from: number;
  to: number | null;
  limitBytes: number | null;
  utilisation: number | null;
  lossRate: number | null;
  delayP99Ms: number | null;
  nB: number | null;
  advisedBytes: number | null;
  incomplete: string;
}

export interface Status {
  /** The finished run that is shown; null of a live controller. */
  finished: FinishedRun | null;
  version: string;
  mode: string;
  windowSeconds: number | null;
  collectors: Collector[];
  switches: Collector[];
  reportsReceived: number | null;
  reportsLost: number | null;
  /** Reports whose numbers do not go on from those before. */
  implausible: number | null;
  malformed: number | null;
  kernelDrops: number | null;
  probeSamples: number | null;
  probeLost: number | null;
  joinCandidates: number | null;
  joinMatched: number | null;
  /** What the operator should know of the limits, in words. */
  warnings: string[];
}
