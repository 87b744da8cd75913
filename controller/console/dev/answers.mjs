// SPDX-License-Identifier: Apache-2.0
// The controller's answers (docs/reference/api.md) about a made-up link: recorded ones, with
// numbers that match this link. The numbers are close to what the formulas give for it, but are not
// computed by the product.

import { readFileSync } from 'node:fs';

/** Size of a full frame in the queue, bytes. */
const M = 1514;

function around(value, error, samples = 400) {
  return { value, low: value * (1 - error), high: value * (1 + error), evidence: 'probed', samples };
}

export const TARGETS = { utilisation: 0.98, loss_rate: 0.01, delay_ms: 30, priority: ['utilisation', 'loss', 'delay'], confidence: 0.9, margin: 0 };

/** Returns a controller's answer (dev/record.mjs), where the made-up link does not matter. */
function recorded(name) {
  return JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'));
}

const [LINK] = recorded('links').links;
const STATUS = recorded('status');
/** Findings while no port has reported. */
export const FINDINGS = recorded('findings');
const VERDICT = recorded('verdict').verdict;
const { rules, rejected, ...ADVICE } = recorded('advice').advice;

/** The advised limit; tests change it. */
export const ADVISED = { bytes: 158_000 };

/** Returns the advice, with its rules if `full`. */
export function advice(link, full) {
  const { bytes } = ADVISED;
  const sizes = { limit_bytes: bytes, limit_packets: bytes / M, limit_ms: bytes / 12_500 };
  return { ...ADVICE, ...sizes, present: { ...ADVICE.present, limit_bytes: link.limitBytes }, ...(full ? { rules, rejected } : {}) };
}

const WHY = {
  LBP: (f) => `${Math.max(3, f.drops)} of ${Math.max(3, f.drops) + 1} reductions follow a drop here within two RTTs`,
  RBP: () => '7 of 7 reductions come without a drop here',
  WL: (f) => `in flight stays at the advertised window, ${Math.round(f.maxWindow)} segments`,
  SHORT: () => 'cwnd 12 below ssthresh, no loss yet',
};

function flow(f, queueDelay) {
  const lbp = f.cls === 'LBP';
  return {
    ...LINK.estimate.flows[0],
    flow: f.id,
    key: { src: `10.0.${1 + ((f.id - 1) % 4)}.2`, dst: '10.0.5.2', src_port: 40000 + f.id * 17, dst_port: 5001, protocol: 6 },
    class: f.cls,
    confidence: lbp ? 0.97 : 0.88,
    p_lbp: lbp ? 0.97 : 0.06,
    why: WHY[f.cls](f),
    rate_bps: f.rate * 8000,
    drops: f.drops,
    cwnd: Math.round(Math.min(f.window, f.maxWindow ?? Infinity)),
    srtt_ms: f.rtt + queueDelay,
    base_rtt_ms: f.rtt * 1.01,
    congestion_control: f.control,
    beta: f.control === 'cubic' ? 0.7 : 0.5,
  };
}

export function estimate(link) {
  const lbp = link.flows.filter((f) => f.cls === 'LBP');
  const te = lbp.length / lbp.reduce((s, f) => s + 1 / f.rtt, 0);
  const wobble = Math.sin(link.now / 9000);
  const total = link.flows.reduce((s, f) => s + f.rate, 0) || 1;
  const share = Math.min(1, lbp.reduce((s, f) => s + f.rate, 0) / Math.max(total, link.bytesPerMs));
  const to = Math.floor(link.now / 10) * 10;
  const count = (c) => link.flows.filter((f) => f.cls === c).length;
  return {
    ...LINK.estimate,
    node: link.node,
    port: link.port,
    queue: 0,
    port_name: link.name,
    from_ns: Math.max(0, to - 10_000) * 1e6,
    to_ns: to * 1e6,
    capacity_bps: link.capacityBps,
    shares_port: false,
    queue_drain_bps: link.capacityBps * (1514 / 1538),
    segment_bytes: M,
    limit_bytes: link.limitBytes,
    estimates: {
      ...LINK.estimate.estimates,
      n_b: { value: lbp.length + (wobble > 0.9 ? 1 : 0), low: lbp.length - 1, high: lbp.length + 1, evidence: 'probed', samples: link.flows.length },
      alpha: around(0.52 + 0.05 * wobble, 0.18, 31),
      delta: around(3.4 + 0.2 * wobble, 0.15),
      t_e_ms: around(te * (1 + 0.01 * wobble), 0.04),
      c_e_share: around(share * 0.98, 0.03),
      regime: { value: 'elastic', evidence: 'probed', why: `${lbp.length} flows are bottlenecked here, the others offer ${(100 * (1 - share)).toFixed(0)} % of capacity` },
    },
    classes: { lbp: count('LBP'), rbp: count('RBP'), wl: count('WL'), short: count('SHORT'), other: 0 },
    flows: link.flows.map((f) => flow(f, link.queue / link.bytesPerMs)),
    caveats: [],
  };
}

export function link(l, full, ageS) {
  return {
    ...LINK,
    node: l.node,
    port: l.port,
    queue: 0,
    name: l.name,
    capacity_bps: l.capacityBps,
    capture_start_ns: 0,
    capture_start_unix_ms: l.startUnixMs,
    now_ns: l.now * 1e6,
    age_s: ageS,
    node_age_s: ageS,
    lag_s: 0.02,
    stale: ageS > 3,
    limit: { action: 'drop_tail', limit_bytes: l.limitBytes },
    reported_limit_bytes: l.reportedLimitBytes ?? l.limitBytes,
    recent: { ...LINK.recent, utilisation: 0.99, loss_rate: 0.006, occupancy_bytes: { p50: l.queue, p99: l.limitBytes, max: l.limitBytes }, delay_ms: { p50: 12, p99: 24.7, max: 25 }, packets: 8130 },
    targets: TARGETS,
    estimate: estimate(l),
    advice: advice(l, full),
    verdict: { ...verdict(l), curve: undefined, rules: undefined },
    watching: null,
  };
}

/** Returns a link as an overview has it. */
export function summary(l, ageS) {
  const { node, port, queue, name, node_name, capacity_bps, age_s, stale, reported_limit_bytes, limit, recent, targets } = link(l, false, ageS);
  return {
    node, port, queue, name, node_name, capacity_bps, age_s, stale, reported_limit_bytes, limit, recent, targets,
    answer: verdict(l).answer, n_b: l.flows.filter((f) => f.cls === 'LBP').length, advised_bytes: ADVISED.bytes, watching: false,
  };
}

/** Returns the estimates over time, one per second. */
export function estimates(l, from, to, points) {
  const times = [];
  for (let t = Math.max(1000, from); t <= to; t += 1000) times.push(t);
  const kept = times.slice(-points);
  const near = (f, e) => {
    const value = kept.map(f);
    return { value, low: value.map((v) => v * (1 - e)), high: value.map((v) => v * (1 + e)) };
  };
  const lbp = l.flows.filter((f) => f.cls === 'LBP').length;
  return {
    node: l.node, port: l.port, queue: 0, time_ns: kept.map((t) => t * 1e6),
    n_b: near(() => lbp, 0.08), alpha: near((t) => 0.52 + 0.05 * Math.sin(t / 9000), 0.18), delta: near((t) => 3.4 + 0.2 * Math.sin(t / 9000), 0.15),
    t_e_ms: near((t) => 19.2 * (1 + 0.01 * Math.sin(t / 9000)), 0.04), c_e_share: near(() => 0.89, 0.03),
    advised_bytes: kept.map(() => ADVISED.bytes), limit_bytes: kept.map(() => l.limitBytes),
  };
}

/** Counters that tests set. */
export const COUNTERS = { reports_lost: 0, reports_implausible_sequence: 0 };

export function adviceAnswer(l) {
  return { node: l.node, port: l.port, queue: 0, targets: TARGETS, limit: { action: 'drop_tail', limit_bytes: l.limitBytes }, advice: advice(l, true), can_apply: true, why_not: null };
}

/** The recorded verdict, moved to the advised limit of this link: its loss and utilisation there, and delays in proportion. */
export function verdict(l) {
  const scale = ADVISED.bytes / VERDICT.set_bytes;
  const times = (range) => Object.fromEntries(Object.entries(range).map(([name, v]) => [name, v * scale]));
  const curve = VERDICT.curve.map(({ buffer_bytes, predicted: p }) => ({
    buffer_bytes: buffer_bytes * scale,
    predicted: { ...p, delay_ms: times(p.delay_ms), delay_mean_ms: times(p.delay_mean_ms) },
  }));
  const [low, high] = [VERDICT.low_bytes * scale, VERDICT.high_bytes * scale];
  const answer = l.limitBytes > high ? 'too_big' : l.limitBytes < low ? 'too_small' : 'fine';
  const near = curve.reduce((a, b) => (Math.abs(b.buffer_bytes - l.limitBytes) < Math.abs(a.buffer_bytes - l.limitBytes) ? b : a));
  const { utilisation, loss_rate, delay_mean_ms } = near.predicted;
  const kB = (bytes) => `${Math.round(bytes / 1000)} kB`;
  const there = `at ${kB(l.limitBytes)} utilisation is 99.0 % for 98.0 % and loss ${(100 * loss_rate.value).toFixed(2)} % for 1.00 %`;
  return {
    ...VERDICT,
    answer,
    in_force_bytes: l.limitBytes,
    low_bytes: Math.floor(low),
    set_bytes: answer === 'fine' ? l.limitBytes : ADVISED.bytes,
    high_bytes: Math.ceil(high),
    because: answer === 'fine' ? `${there}: less buffer would gain little` : `${there}; ${kB(ADVISED.bytes)} meets the targets with a probability of 99 %`,
    measured: [{ limit_bytes: l.limitBytes, utilisation, loss_rate, delay_mean_ms: delay_mean_ms.value, loss_events: 187 }],
    curve,
    ...l.verdict,
  };
}

/** A recorded picture of another verdict; its axis contains the made-up link's advised limit. */
export function picture(width) {
  const name = width === null ? 'paper' : width < 480 ? 'phone' : 'page';
  return readFileSync(new URL(`fixtures/verdict-${name}.svg`, import.meta.url), 'utf8');
}

export function verdictAnswer(l) {
  return { node: l.node, port: l.port, queue: 0, targets: TARGETS, verdict: verdict(l) };
}

/** Returns the status, whose counters follow the number of reports. */
export function status(links, reports, ageS) {
  const [collector] = STATUS.collectors;
  const [device] = STATUS.switches;
  const samples = Math.round(reports * 0.95);
  const counted = { reports_received: reports, probe_samples: Math.round(reports * 0.9), join_candidates: samples, join_matched: Math.round(samples * 0.996) };
  return {
    ...STATUS,
    collectors: [{ ...collector, age_s: ageS, status: { ...collector.status, ...counted, ...COUNTERS } }],
    switches: [{ ...device, limits: Object.fromEntries(links.map((l) => [l.port, { action: 'drop_tail', limit_bytes: l.limitBytes }])) }],
    targets: TARGETS,
    links: links.map((l) => ({ node: l.node, port: l.port, queue: 0 })),
  };
}
