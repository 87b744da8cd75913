// SPDX-License-Identifier: Apache-2.0
// Tests the readers on answers recorded from a controller (dev/record.mjs).

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { adviceState, curve, limit } from './advice';
import { verdictState } from './verdict';
import { interval } from './estimate';
import { link, links } from './link';
import { change, changes, phases, status } from './status';
import { parseAddress } from '../model/address';
import { linkKey, linkTitle, place } from '../model/links';
import { distribution, estimateHistory, packets, series, windows } from './over-time';

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../dev/fixtures/${name}.json`, import.meta.url), 'utf8'));
}

describe('what is not known', () => {
  it('is no zero', () => {
    const nothing = { occupancy_p50_bytes: [1500, null, 0], utilisation: [0.5, null, 0] };
    const s = series({ ...nothing, time_ns: [0, 1e9, 2e9], arrivals: [100, null, 0], drops: [1, null, 0] }, 0);
    expect(s.loss).toEqual([0.01, null, null]);
    expect(s.drops).toEqual([1, null, 0]);
    expect(s.occP50).toEqual([1500, null, 0]);
    const counters = { reports_received: 5, kernel_drops: null, probe_lost: null, datagrams_malformed: null };
    const shown = status({ collectors: [{ status: counters }] });
    expect(shown).toMatchObject({ reportsReceived: 5, kernelDrops: null, probeLost: null, malformed: null });
  });
});

describe('recorded answers', () => {
  const [l] = links(fixture('links'));

  it('gives a link with limit, capacity and age', () => {
    expect(l).toMatchObject({ node: 10, port: 5, name: 'bottleneck', capacityBps: 100_000_000, stale: false });
    expect(l?.limit?.action).toBe('drop_tail');
    expect(l?.limit?.bytes).toBeGreaterThan(0);
    expect(l?.ageMs).toBeGreaterThanOrEqual(0);
    expect(l?.now).toBeGreaterThan(1);
    expect(l?.now).toBeLessThan(1e6);
    expect(l?.targets).toMatchObject({ utilisation: 0.98, lossRate: 0.01, delayMs: 30 });
  });

  it('says until when the last change is measured, where that is known', () => {
    const raw = (fixture('links') as { links: Record<string, unknown>[] }).links[0] ?? {};
    const start = Number(raw.capture_start_ns ?? 0);
    const shown = (watching: unknown) => link({ ...raw, watching })?.watching;
    expect(shown(null)).toBe('');
    expect(shown({ from_ns: start, to_ns: start + 42e9 })).toContain('until 42 s');
    expect(shown({ from_ns: null, to_ns: null })).toContain('once telemetry comes');
  });

  it('gives the five estimates with their intervals', () => {
    const values = l?.estimate?.values;
    for (const name of ['nB', 'alpha', 'delta', 'tE', 'cE'] as const) {
      const e = values?.[name];
      expect(e, name).not.toBeNull();
      expect(e?.low, name).toBeLessThanOrEqual(e?.value ?? Number.NaN);
      expect(e?.high, name).toBeGreaterThanOrEqual(e?.value ?? Number.NaN);
      expect(e?.evidence, name).not.toBe('');
    }
    expect(values?.nB?.value).toBeGreaterThan(8);
    expect(l?.estimate?.regime).toBe('elastic');
    expect(l?.estimate?.regimeWhy).not.toBe('');
    expect(l?.estimate?.segmentBytes).toBe(1514);
  });

  it('gives flows with class, reason and addresses', () => {
    const flows = l?.estimate?.flows ?? [];
    expect(flows.length).toBeGreaterThan(10);
    expect(new Set(flows.map((f) => f.id)).size).toBe(flows.length);
    const f = flows.find((x) => x.cls === 'LBP');
    expect(f?.src).toMatch(/^\d+\.\d+\.\d+\.\d+:\d+$/);
    expect(f?.why).not.toBe('');
    expect(f?.rateBps).toBeGreaterThan(0);
    expect(f?.baseRttMs).toBeGreaterThan(0);
    expect(f?.protocol).toBe('TCP');
  });

  it('gives advice, its rules and whether it can be applied', () => {
    const a = adviceState(fixture('advice'));
    expect(a?.link).toEqual({ node: 10, port: 5, queue: 0 });
    expect(a?.canApply).toBe(true);
    expect(a?.advice.advisedBytes).toBeGreaterThan(0);
    expect(a?.advice.reasons.length).toBeGreaterThan(1);
    expect(a?.advice.predicted?.utilisation?.value).toBeGreaterThan(0.5);
    expect(a?.advice.observed?.utilisation).toBeGreaterThan(0.5);
    const rules = a?.advice.rules ?? [];
    expect(rules.length).toBeGreaterThan(8);
    expect(rules.some((r) => r.id === a?.advice.rule)).toBe(true);
    for (const r of rules) {
      expect(r.name).not.toBe('');
      expect(r.source).not.toBe('');
      expect(r.applies || r.missing !== '' || r.assumptions.some((x) => x.holds === false), r.id).toBe(true);
    }
  });

  it('gives series and packets as columns of equal length', () => {
    const s = series(fixture('series'), l?.startNs ?? 0);
    expect(s.stepSeconds).toBeGreaterThan(0);
    expect(s.time.length).toBeGreaterThan(5);
    for (const c of [s.occP50, s.occP99, s.occMax, s.limit, s.utilisation, s.loss, s.delayP99, s.drops]) expect(c.length).toBe(s.time.length);
    expect(s.utilisation.every((u) => u !== null && u > 0.5 && u < 1.1)).toBe(true);
    const p = packets(fixture('packets'), l?.startNs ?? 0);
    expect(p.time.length).toBeGreaterThan(50);
    for (const c of [p.occupancy, p.dropped, p.flow, p.cwnd]) expect(c.length).toBe(p.time.length);
    expect([...p.time].sort((a, b) => a - b)).toEqual([...p.time]);
  });

  it('warns of missing records and of a limit that someone else wrote', () => {
    expect(status(fixture('status')).warnings).toEqual([]);
    const audit = { file: true, policy: 'required', not_written: 3, problem: 'No space left on device' };
    const drop = (bytes: number) => ({ action: 'drop_tail', limit_bytes: bytes });
    const drift = [{ node: 10, port: 5, expected: drop(90_000), found: drop(7), unix_ms: 1, answer: 'keep' }];
    const { warnings } = status({ audit, drift });
    expect(warnings[0]).toContain('No space left on device. Nothing is changed');
    expect(warnings[1]).toMatch(/^Port 10:5: .*7 B instead of .*90000 B; it stays\.$/);
    expect(status({ audit: { ...audit, problem: null } }).warnings[0]).toContain('written again');
  });

  it('warns of changes that nothing records and of state that is not saved', () => {
    const audit = { file: false, policy: 'required', not_written: 0, problem: null };
    const { warnings } = status({ audit, state_problem: 'Read-only file system' });
    expect(warnings[0]).toContain('control.audit_log is not set');
    expect(warnings[1]).toContain('Read-only file system');
    expect(status({ audit: { ...audit, policy: 'best_effort' }, state_problem: null }).warnings).toEqual([]);
  });

  it('gives the counters of the collectors', () => {
    const s = status(fixture('status'));
    expect(s.mode).toBe('confirm');
    expect(s.collectors).toEqual([{ address: '127.0.0.1:9560', connected: true, problem: '' }]);
    expect(s.reportsReceived).toBeGreaterThan(1000);
    expect(s.reportsLost).toBe(0);
    expect(s.malformed).toBe(0);
    expect(s.joinMatched).toBeGreaterThan(1000);
  });

  it('gives the verdict with what was measured and what is expected', () => {
    const v = verdictState(fixture('verdict'));
    expect(['too_big', 'fine', 'too_small']).toContain(v?.answer);
    expect(v?.because).not.toBe('');
    expect(v?.lowBytes).toBeLessThanOrEqual(v?.setBytes ?? 0);
    expect(v?.highBytes).toBeGreaterThanOrEqual(v?.setBytes ?? Infinity);
    expect(v?.chance).toBeGreaterThan(0.5);
    expect(v?.evidence.lossEvents).toBeGreaterThan(1);
    expect(v?.measured[0]?.lossRate?.high).toBeGreaterThan(v?.measured[0]?.lossRate?.value ?? 1);
    const c = v?.curve ?? [];
    expect(c.length).toBeGreaterThan(20);
    expect(c.every((p) => p.predicted.utilisation && p.predicted.lossRate && p.predicted.delayMs && p.predicted.delayMeanMs)).toBe(true);
    expect(verdictState({ verdict: null })).toBeNull();
  });

  it('gives the changes', () => {
    const [entry] = changes(fixture('changes'));
    expect(entry).toMatchObject({ link: '10:5', what: '312500 B → 74599 B', origin: 'advice, confirmed', outcome: 'set', ok: true });
    expect(entry?.why).toContain('BSCL');
  });
});

describe('distribution', () => {
  it('gives shares of all arrivals', () => {
    const d = distribution({
      from_ns: 1e9, to_ns: 4e9, arrivals: 4, p50_bytes: 100, p99_bytes: 6400, max_bytes: 6400,
      low_bytes: [0, 100, 6400], high_bytes: [1, 101, 6464], count: [1, 2, 1],
    });
    expect(d?.total).toBe(4);
    expect(d?.bins[1]).toEqual({ lowBytes: 100, highBytes: 101, share: 0.5 });
    expect(d?.spanSeconds).toBe(3);
  });

  it('is nothing where nothing arrived', () => {
    expect(distribution({ low_bytes: [], high_bytes: [], count: [] })).toBeNull();
  });
});

describe('answers that lack something', () => {
  it('never throws', () => {
    for (const v of [null, undefined, 1, 'x', [], {}, { links: [null, {}, { node: 1 }] }, { estimate: { estimates: 3 } }]) {
      expect(links(v)).toEqual([]);
      expect(adviceState(v)).toBeNull();
      expect(series(v, 0).time).toEqual([]);
      expect(packets(v, 0).time.length).toBe(0);
      expect(status(v).reportsReceived).toBeNull();
      expect(changes(v)).toEqual([]);
      expect(curve(v)).toEqual([]);
      expect(interval(v)).toBeNull();
    }
  });

  it('knows a link whose port no report tells', () => {
    const of = { node: 7, port: null, queue: 0 };
    const l = link({ ...of, name: '' });
    expect(l).toMatchObject(of);
    expect(l && [linkKey(l), linkTitle(l)]).toEqual(['7:unknown', 'node 7, port unknown']);
    expect(l && place(l)).toEqual({ node: 7, port: 'unknown', queue: 0 });
    expect(parseAddress('#link=7:unknown:0').link).toBe('7:unknown');
    expect(phases({ phases: [{ name: 'run', links: [of] }] })[0]?.links[0]?.port).toBeNull();
  });

  it('knows a link before its first estimate', () => {
    const l = link({ node: 1, port: 2, estimate: null, advice: null, limit: null, recent: null, capture_start_ns: null });
    expect(l).toMatchObject({ node: 1, port: 2, estimate: null, advice: null, limit: null, capacityBps: null });
  });

  it('tells refusals and failures from what was done', () => {
    expect(change({ outcome: 'refused', error: 'telemetry is 5 s old', reason: 'advice' })).toMatchObject({ ok: false, why: 'telemetry is 5 s old. advice' });
    expect(change({ outcome: 'worse' }).ok).toBe(false);
    expect(change({ outcome: 'kept' }).ok).toBe(true);
    expect(change({ limit: { action: 'unlimited' } }).what).toBe('? → unlimited');
  });

  it('tells threshold and limit of a port that marks apart', () => {
    const both = { action: 'mark_ce', threshold_bytes: 1000, limit_bytes: 3000 };
    expect(limit(both)).toEqual({ action: 'mark_ce', bytes: 1000, refusesAtBytes: 3000 });
    expect(limit({ ...both, limit_bytes: null })).toEqual({ action: 'mark_ce', bytes: 1000, refusesAtBytes: null });
    expect(limit({ action: 'drop_tail', limit_bytes: 3000 })).toEqual({ action: 'drop_tail', bytes: 3000, refusesAtBytes: 3000 });
    expect(limit({ action: 'unlimited' })).toEqual({ action: 'unlimited', bytes: null, refusesAtBytes: null });
    expect(limit(null)).toBeNull();
    const what = change({ before: { ...both, limit_bytes: null }, limit: both }).what;
    expect(what).toBe('CE marks from 1000 B on, no limit → CE marks from 1000 B on, limit 3000 B');
  });

  it('shows the limit that is advised above a threshold', () => {
    const marking = { headroom_bytes: 500, limit_bytes: 1500, limit_ms: 1.2, reason: 'a guess' };
    const state = { node: 1, port: 2, advice: { limit_bytes: 1000, marking } };
    expect(adviceState(state)?.advice.marking).toEqual({ limitBytes: 1500, limitMs: 1.2, reason: 'a guess' });
    expect(adviceState({ ...state, advice: { limit_bytes: 1000 } })?.advice.marking).toBeNull();
  });
});

describe('spans of time', () => {
  it('gives windows in seconds, with what is not known as null', () => {
    const w = windows(
      { step_ns: 1e8, time_ns: [5e9, 5.1e9], cwnd_sum_pkts: [30, null], in_flight_sum_bytes: [45_000, null], probed_flows: [2, 0], data_flows: [3, 3], flows: [{ flow: 7, cwnd_pkts: [10, null], in_flight_bytes: [15_000, null], drops: [1, 0], ce_marked: [0, 2] }] },
      4e9,
    );
    expect(w.time).toEqual([1, expect.closeTo(1.1)]);
    expect(w.stepSeconds).toBeCloseTo(0.1);
    expect(w.cwndSumPkts).toEqual([30, null]);
    expect(w.flows).toEqual([{ id: '7', cwndPkts: [10, null], inFlightBytes: [15_000, null], drops: [1, 0], ce: [0, 2] }]);
  });

  it('gives estimates with their ranges, also of a controller that says nothing', () => {
    const columns = { value: [12, null], low: [11, null], high: [13, null] };
    const rows = estimateHistory({ time_ns: [5e9, 6e9], n_b: columns, t_e_ms: columns }, 4e9);
    expect(rows.map((r) => r.time)).toEqual([1, 2]);
    expect(rows[0]?.row).toMatchObject({ nB: 12, nBLow: 11, nBHigh: 13, tE: 12, delta: null });
    expect(rows[1]?.row.nB).toBeNull();
    expect(estimateHistory({}, 0)).toEqual([]);
  });

  it('gives packets whole, also of a collector that tells less', () => {
    const p = packets({ ingress_ns: [5e9, 5.5e9], egress_ns: [5.25e9, 0], occupancy_bytes: [1, 2], flow_id: [7, 8], dropped: [false, true], ip_bytes: [1500, 40], cwnd: [9, 0], tcp_seq: [1, 2], ce_marked: [true, false], oldest_ns: 4.5e9 }, 4e9);
    expect([p.time, p.left, p.dropped, p.ce, p.seq].map((c) => [...c])).toEqual([[1, 1.5], [1.25, 1.5], [0, 1], [1, 0], [1, 2]]);
    expect(p.oldest).toBe(0.5);
    expect(packets({ ingress_ns: [] }, 0).oldest).toBeNull();
  });
});
