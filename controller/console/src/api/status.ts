// SPDX-License-Identifier: Apache-2.0
// Reads the state of the controller, phases and changes.

import type * as api from './generated';
import { limitText } from '../model/links';
import { advice, limit } from './advice';
import { linkEstimate } from './estimate';
import { boolean, fields, list, number, string, strings } from './json';

function collector(v: unknown) {
  const o = fields<api.Collector>(v);
  return { address: string(o.address), connected: boolean(o.connected), problem: string(o.problem) };
}

function device(v: unknown) {
  const o = fields<api.Switch>(v);
  const health = fields<api.Health>(o.health);
  return { node: number(o.node), address: string(o.address), ready: o.ready === true, problem: string(health.problem) || string(o.provision_problem) };
}

export type Status = ReturnType<typeof status>;

export function status(v: unknown) {
  const o = fields<api.Status>(v);
  const collectors = list(o.collectors);
  const counters = collectors.map((c) => fields<api.CollectorCounters>(fields<api.Collector>(c).status));
  /** Sums a counter over the collectors; null if none has it. */
  const sum = (name: keyof api.CollectorCounters): number | null => {
    const known = counters.map((c) => number(c[name])).filter((n) => n !== null);
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
  };
  return {
    /** The finished run that is shown instead of a live one. */
    finished: finishedRun(o.recording),
    mode: string(o.mode),
    collectors: collectors.map(collector),
    switches: list(o.switches).map(device),
    reportsReceived: sum('reports_received'),
    reportsLost: sum('reports_lost'),
    /** Reports whose sequence numbers do not continue the earlier ones. */
    implausible: sum('reports_implausible_sequence'),
    malformed: sum('datagrams_malformed'),
    kernelDrops: sum('kernel_drops'),
    probeSamples: sum('probe_samples'),
    probeLost: sum('probe_lost'),
    joinCandidates: sum('join_candidates'),
    joinMatched: sum('join_matched'),
    /** Warnings about the limits, for the operator. */
    warnings: [...auditWarnings(o.audit), ...stateWarning(o.state_problem), ...list(o.drift).map(driftWarning)],
  };
}

export type FinishedRun = NonNullable<ReturnType<typeof finishedRun>>;

function finishedRun(v: unknown) {
  if (v === null || v === undefined) return null;
  const o = fields<api.Recording>(v);
  return {
    capture: string(o.capture),
    seconds: number(o.seconds) ?? 0,
    /** Share of the run that was read, 0 to 1. */
    read: number(o.read_fraction) ?? 0,
    notes: strings(o.notes),
    problem: string(o.problem),
  };
}

export type Phase = ReturnType<typeof phases>[number];

/** Reads the phases that have ended or are running, oldest first. */
export function phases(v: unknown) {
  return list(fields<api.Phases>(v).phases).map((p) => {
    const o = fields<api.Phase>(p);
    return { name: string(o.name), running: o.state === 'running', links: list(o.links).map(phaseLink) };
  });
}

export type PhaseLink = ReturnType<typeof phaseLink>;

function phaseLink(v: unknown) {
  const o = fields<api.PhaseLink>(v);
  const start = number(o.capture_start_ns) ?? 0;
  const e = linkEstimate(o.estimate, start);
  return {
    node: number(o.node) ?? 0,
    port: number(o.port),
    queue: number(o.queue) ?? 0,
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
  // Without a file, a record is required only if auto mode demands it by itself.
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
  return `Port ${named(d)}: someone else wrote the limit, ${limitWords(d.found)} instead of ${limitWords(d.expected)}; ${answer}.`;
}

/** Returns the link that a record belongs to. */
function named(o: { node?: unknown; port?: unknown; queue?: unknown }): string {
  const queue = number(o.queue) ?? 0;
  return `${number(o.node) ?? '?'}:${number(o.port) ?? '?'}${queue === 0 ? '' : `:${queue}`}`;
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
  provision: 'configuration',
  foreign: 'someone else',
};

export type AuditEntry = ReturnType<typeof change>;

export function change(v: unknown) {
  const o = fields<api.Change>(v);
  const outcome = string(o.outcome);
  const origin = string(o.origin);
  const unixMs = number(o.unix_ms);
  const link = named(o);
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

/** Reads the changes, newest first. */
export function changes(v: unknown) {
  return list(fields<api.Changes>(v).changes)
    .map(change)
    .sort((a, b) => (b.unixMs ?? 0) - (a.unixMs ?? 0));
}
