// SPDX-License-Identifier: Apache-2.0
// The controller's answers in the page's units: seconds since the link's first
// interval, shares, words. Names of fields are those of the generated types; a
// value that is missing or of another type becomes null or empty.

import type {
  Advice,
  AdviceState,
  AuditEntry,
  Brief,
  Collector,
  CurvePoint,
  Estimate,
  FinishedRun,
  Flow,
  FlowClass,
  Interval,
  Link,
  Limit,
  LinkEstimate,
  Marking,
  Phase,
  PhaseLink,
  Prediction,
  Quantiles,
  Recent,
  Regime,
  Rule,
  Status,
  Targets,
} from '../model/types';
import type * as api from './generated';
import { limitText } from '../model/links';
import { boolean, fields, list, number, string, strings } from './json';

const NS = 1e9;
const CLASSES: readonly FlowClass[] = ['LBP', 'RBP', 'WL', 'SHORT', 'OTHER'];

export function interval(v: unknown): Interval | null {
  const o = fields<api.Interval>(v);
  const value = number(o.value);
  if (value === null) return null;
  return { value, low: number(o.low) ?? value, high: number(o.high) ?? value };
}

function estimate(v: unknown): Estimate | null {
  const i = interval(v);
  if (!i) return null;
  const o = fields<api.Estimate>(v);
  return { ...i, evidence: string(o.evidence), samples: number(o.samples) };
}

function quantiles(v: unknown): Quantiles {
  const o = fields<api.Quantiles>(v);
  return { p50: number(o.p50), p99: number(o.p99), max: number(o.max) };
}

function regime(v: unknown): Regime {
  return v === 'transparent' || v === 'elastic' || v === 'overload' ? v : 'unknown';
}

const PROTOCOLS: Record<number, string> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP', 58: 'ICMPv6' };

function endpoint(address: unknown, port: unknown): string {
  const a = string(address, '?');
  return `${a.includes(':') ? `[${a}]` : a}:${number(port) ?? '?'}`;
}

function flow(v: unknown): Flow {
  const o = fields<api.Flow>(v);
  const key = fields<api.FlowKey>(o.key);
  const cls = string(o.class).toUpperCase() as FlowClass;
  const protocol = number(key.protocol);
  return {
    id: String(o.flow ?? ''),
    src: endpoint(key.src, key.src_port),
    dst: endpoint(key.dst, key.dst_port),
    protocol: protocol === null ? '' : (PROTOCOLS[protocol] ?? `protocol ${protocol}`),
    cls: CLASSES.includes(cls) ? cls : 'OTHER',
    confidence: number(o.confidence),
    why: string(o.why),
    evidence: string(o.evidence),
    rateBps: number(o.rate_bps),
    drops: number(o.drops),
    activeFraction: number(o.active_fraction),
    cwndPkts: number(o.cwnd),
    srttMs: number(o.srtt_ms),
    baseRttMs: number(o.base_rtt_ms),
    control: string(o.congestion_control),
  };
}

export function linkEstimate(v: unknown, startNs: number): LinkEstimate | null {
  const o = fields<api.LinkEstimate>(v);
  const e = fields<api.Estimates>(o.estimates);
  if (Object.keys(e).length === 0) return null;
  const r = fields<api.RegimeEstimate>(e.regime);
  const counts = fields<api.ClassCounts>(o.classes);
  return {
    from: ((number(o.from_ns) ?? startNs) - startNs) / NS,
    to: ((number(o.to_ns) ?? startNs) - startNs) / NS,
    segmentBytes: number(o.segment_bytes) || null,
    drainBps: number(o.queue_drain_bps) || null,
    regime: regime(r.value),
    regimeWhy: string(r.why),
    values: {
      nB: estimate(e.n_b),
      alpha: estimate(e.alpha),
      delta: estimate(e.delta),
      tE: estimate(e.t_e_ms),
      cE: estimate(e.c_e_share),
    },
    meanLossBurst: estimate(e.mean_loss_burst),
    rho: estimate(e.rho),
    utilisation: number(fields<api.Utilisation>(o.utilisation).mean),
    lossRate: number(o.loss_rate),
    delayMs: quantiles(o.delay_ms),
    classes: {
      LBP: number(counts.lbp) ?? 0,
      RBP: number(counts.rbp) ?? 0,
      WL: number(counts.wl) ?? 0,
      SHORT: number(counts.short) ?? 0,
      OTHER: number(counts.other) ?? 0,
    },
    flows: list(o.flows).map(flow),
    caveats: strings(o.caveats),
  };
}

export function targets(v: unknown): Targets {
  const o = fields<api.Targets>(v);
  return {
    utilisation: number(o.utilisation),
    lossRate: number(o.loss_rate),
    delayMs: number(o.delay_ms),
    priority: strings(o.priority),
  };
}

function prediction(v: unknown): Prediction | null {
  const o = fields<api.Prediction>(v);
  const p = { utilisation: interval(o.utilisation), lossRate: interval(o.loss_rate), delayMs: interval(o.delay_ms) };
  return p.utilisation || p.lossRate || p.delayMs ? p : null;
}

export function rule(v: unknown): Rule {
  const o = fields<api.Rule>(v);
  return {
    id: string(o.id),
    name: string(o.name, string(o.id)),
    bufferBytes: number(o.buffer_bytes),
    applies: o.applies === true,
    assumptions: list(o.assumptions).map((a) => {
      const x = fields<api.Assumption>(a);
      return { text: string(x.text), holds: boolean(x.holds) };
    }),
    missing: string(o.missing),
    formula: string(o.formula),
    source: string(o.source),
    goals: strings(o.goals),
    inputs: list(o.inputs).flatMap((i) => {
      const x = fields<api.Input>(i);
      const value = number(x.value);
      return value === null ? [] : [{ name: string(x.name), value, unit: string(x.unit) }];
    }),
  };
}

export function limit(v: unknown): Limit | null {
  const o = fields<Partial<Record<'action' | 'threshold_bytes' | 'limit_bytes', unknown>>>(v);
  const action = string(o.action);
  if (!action) return null;
  const refusesAtBytes = number(o.limit_bytes);
  return { action, bytes: action === 'mark_ce' ? number(o.threshold_bytes) : refusesAtBytes, refusesAtBytes };
}

function marking(v: unknown): Marking | null {
  const o = fields<api.Marking>(v);
  const limitBytes = number(o.limit_bytes);
  return limitBytes === null ? null : { limitBytes, limitMs: number(o.limit_ms), reason: string(o.reason) };
}

export function advice(v: unknown): Advice | null {
  const o = fields<api.Advice>(v);
  if (Object.keys(o).length === 0) return null;
  const present = fields<api.Present>(o.present);
  const measured = fields<api.Observed>(present.measured);
  return {
    advisedBytes: number(o.limit_bytes),
    marking: marking(o.marking),
    rule: string(o.rule),
    decidedBy: string(o.decided_by),
    feasible: o.feasible === true,
    givenUp: strings(fields<api.Infeasibility>(o.infeasible).given_up),
    reasons: strings(o.reasons),
    predicted: prediction(o.predicted),
    presentBytes: number(present.limit_bytes),
    presentPredicted: prediction(present.predicted),
    observed:
      number(measured.utilisation) === null
        ? null
        : {
            utilisation: number(measured.utilisation),
            lossRate: number(measured.loss_rate),
            delayMaxMs: number(measured.delay_max_ms),
          },
    rules: list(o.rules).map(rule),
  };
}

export function adviceState(v: unknown): AdviceState | null {
  const o = fields<api.AdviceState>(v);
  const a = advice(o.advice);
  const node = number(o.node);
  const port = number(o.port);
  if (!a || node === null || port === null) return null;
  return { link: { node, port }, advice: a, targets: targets(o.targets), canApply: o.can_apply === true, whyNot: string(o.why_not) };
}

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

function recent(v: unknown): Recent {
  const o = fields<api.Recent>(v);
  return {
    utilisation: number(o.utilisation),
    lossRate: number(o.loss_rate),
    occupancy: quantiles(o.occupancy_bytes),
    delayMs: quantiles(o.delay_ms),
    packets: number(o.packets),
    drops: number(o.drops),
    reportsLost: number(o.reports_lost),
  };
}

function brief(v: unknown): Brief | null {
  const o = fields<api.LinkSummary>(v);
  const node = number(o.node);
  const port = number(o.port);
  if (node === null || port === null) return null;
  return {
    node,
    port,
    name: string(o.name),
    capacityBps: number(o.capacity_bps) || null,
    stale: o.stale === true,
    ageMs: milliseconds(o.age_s),
    limitBytes: limit(o.limit)?.bytes ?? (number(o.reported_limit_bytes) || null),
    advisedBytes: number(o.advised_bytes),
    nB: number(o.n_b),
    recent: recent(o.recent),
    targets: targets(o.targets),
  };
}

/** The links in brief that an update has; null where it has every link in full. */
export function briefs(v: unknown): Brief[] | null {
  const others = list(fields<api.Update>(v).others);
  return others.length === 0 ? null : others.map(brief).filter((b): b is Brief => b !== null);
}

export function link(v: unknown): Link | null {
  const o = fields<api.Link>(v);
  const node = number(o.node);
  const port = number(o.port);
  if (node === null || port === null) return null;
  const startNs = number(o.capture_start_ns) ?? 0;
  return {
    node,
    port,
    name: string(o.name),
    capacityBps: number(o.capacity_bps) || null,
    startNs,
    startUnixMs: number(o.capture_start_unix_ms),
    depthUnitBytes: number(o.depth_unit_bytes) ?? 1,
    now: ((number(o.now_ns) ?? startNs) - startNs) / NS,
    ageMs: milliseconds(o.age_s),
    nodeAgeMs: milliseconds(o.node_age_s),
    lagMs: milliseconds(o.lag_s),
    stale: o.stale === true,
    limit: limit(o.limit),
    reportedLimitBytes: number(o.reported_limit_bytes) || null,
    recent: recent(o.recent),
    targets: targets(o.targets),
    estimate: linkEstimate(o.estimate, startNs),
    advice: advice(o.advice),
    watching: watching(o.watching, startNs),
  };
}

export function links(v: unknown): Link[] {
  return list(fields<api.Links>(v).links)
    .map(link)
    .filter((l): l is Link => l !== null);
}

export function curve(v: unknown): CurvePoint[] {
  return list(fields<api.Curve>(v).points).flatMap((p) => {
    const o = fields<api.CurvePoint>(p);
    const bufferBytes = number(o.buffer_bytes);
    const predicted = prediction(o.predicted);
    return bufferBytes === null || !predicted ? [] : [{ bufferBytes, predicted }];
  });
}

function collector(v: unknown): Collector {
  const o = fields<api.Collector>(v);
  return { address: string(o.address), connected: boolean(o.connected), problem: string(o.problem) };
}

function switchState(v: unknown): Collector {
  const o = fields<api.Switch>(v);
  const health = fields<api.Health>(o.health);
  return { address: string(o.address), connected: boolean(health.connected), problem: string(health.problem) };
}

export function status(v: unknown): Status {
  const o = fields<api.Status>(v);
  const collectors = list(o.collectors);
  const counters = collectors.map((c) => fields<api.CollectorCounters>(fields<api.Collector>(c).status));
  /** Over the collectors; null when none has it. */
  const sum = (name: keyof api.CollectorCounters): number | null => {
    const known = counters.map((c) => number(c[name])).filter((n) => n !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
  };
  return {
    finished: finishedRun(o.recording),
    version: string(o.version),
    mode: string(o.mode),
    windowSeconds: number(o.window_s),
    collectors: collectors.map(collector),
    switches: list(o.switches).map(switchState),
    reportsReceived: sum('reports_received'),
    reportsLost: sum('reports_lost'),
    implausible: sum('reports_implausible_sequence'),
    malformed: sum('datagrams_malformed'),
    kernelDrops: sum('kernel_drops'),
    probeSamples: sum('probe_samples'),
    probeLost: sum('probe_lost'),
    joinCandidates: sum('join_candidates'),
    joinMatched: sum('join_matched'),
    warnings: [...auditWarnings(o.audit), ...stateWarning(o.state_problem), ...list(o.drift).map(driftWarning)],
  };
}

function finishedRun(v: unknown): FinishedRun | null {
  if (v === null || v === undefined) return null;
  const o = fields<api.Recording>(v);
  return {
    capture: string(o.capture),
    startedUnixMs: number(o.started_unix_ms),
    seconds: number(o.seconds) ?? 0,
    read: number(o.read_fraction) ?? 0,
    notes: strings(o.notes),
    problem: string(o.problem),
  };
}

/** Phases that have ended or run, oldest first. */
export function phases(v: unknown): Phase[] {
  return list(fields<api.Phases>(v).phases).map((p) => {
    const o = fields<api.Phase>(p);
    return { name: string(o.name), running: o.state === 'running', links: list(o.links).map(phaseLink) };
  });
}

function phaseLink(v: unknown): PhaseLink {
  const o = fields<api.PhaseLink>(v);
  const start = number(o.capture_start_ns) ?? 0;
  const e = linkEstimate(o.estimate, start);
  return {
    node: number(o.node) ?? 0,
    port: number(o.port) ?? 0,
    from: number(o.start_s) ?? 0,
    to: number(o.end_s),
    limitBytes: number(o.limit_bytes),
    utilisation: e?.utilisation ?? null,
    lossRate: e?.lossRate ?? null,
    delayP99Ms: e?.delayMs.p99 ?? null,
    nB: e?.values.nB?.value ?? null,
    advisedBytes: advice(o.advice)?.advisedBytes ?? null,
    incomplete: string(o.incomplete),
  };
}

function auditWarnings(v: unknown): string[] {
  const a = fields<api.AuditLog>(v);
  // Without a file, a record is required only where auto mode does so by itself.
  if (a.file === false && a.policy === 'required') return ['Auto mode changes limits without a record: control.audit_log is not set.'];
  const missing = number(a.not_written) ?? 0;
  if (missing === 0) return [];
  const why = string(a.problem);
  const what = a.policy === 'required' ? 'Nothing is changed without its record.' : 'Changes are made all the same.';
  return [`${missing} records of changes are missing in the audit log${why ? `: ${why}. ${what}` : '; it is written again.'}`];
}

function stateWarning(v: unknown): string[] {
  const why = string(v);
  return why ? [`The state file cannot be written: ${why}. A restart forgets what was set since.`] : [];
}

function driftWarning(v: unknown): string {
  const d = fields<api.Drift>(v);
  const answer = d.answer === 'restore' ? 'the one expected was written again' : 'it stays';
  return `Port ${number(d.node) ?? '?'}:${number(d.port) ?? '?'}: someone else wrote the limit, ${limitWords(d.found)} instead of ${limitWords(d.expected)}; ${answer}.`;
}

function limitWords(v: unknown): string {
  const l = limit(v);
  return l ? limitText(l, (bytes) => `${bytes} B`) : '?';
}

const OUTCOMES: Record<api.Outcome, string> = {
  set: 'set',
  refused: 'refused',
  failed: 'failed',
  dry_run: 'dry run',
  intended: 'about to be written',
  found: 'found on the switch',
  kept: 'kept after observation',
  worse: 'worse than before',
  unclear: 'not judged',
};
const ORIGINS: Record<api.Origin, string> = {
  operator: 'operator',
  confirmed: 'advice, confirmed',
  auto: 'advice, automatic',
  rollback: 'taken back',
  trial: 'observation',
  restore: 'written again',
  foreign: 'someone else',
};

export function change(v: unknown): AuditEntry {
  const o = fields<api.Change>(v);
  const outcome = string(o.outcome);
  const origin = string(o.origin);
  const unixMs = number(o.unix_ms);
  const link = `${number(o.node) ?? '?'}:${number(o.port) ?? '?'}`;
  const what = `${limitWords(o.before)} → ${limitWords(o.limit)}`;
  return {
    id: [unixMs, link, origin, outcome, what].join('/'),
    unixMs,
    link,
    what,
    origin: ORIGINS[origin as api.Origin] ?? origin,
    why: [string(o.error), string(o.reason)].filter(Boolean).join('. '),
    outcome: OUTCOMES[outcome as api.Outcome] ?? outcome,
    ok: outcome ? !['refused', 'failed', 'worse'].includes(outcome) : null,
  };
}

/** Newest first. */
export function changes(v: unknown): AuditEntry[] {
  return list(fields<api.Changes>(v).changes)
    .map(change)
    .sort((a, b) => (b.unixMs ?? 0) - (a.unixMs ?? 0));
}
