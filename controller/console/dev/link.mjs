// SPDX-License-Identifier: Apache-2.0
// A made-up bottleneck for developing the page without a switch: a fluid queue fed by
// additive-increase flows, stepped every millisecond. It is not a simulator to draw conclusions
// from.

const FRAME = 1514;
const STEPS_KEPT = 240_000; // four minutes

/** Creates a small deterministic generator, so that two runs look alike. */
export function generator(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export class SimulatedLink {
  constructor({ node, port, name, capacityBps, limitBytes, flows, seed }) {
    Object.assign(this, { node, port, name, capacityBps, limitBytes });
    this.random = generator(seed);
    this.queue = 0;
    this.now = 0; // ms
    this.flows = flows.map((f, i) => ({ ...f, id: i + 1, window: 4 + this.random() * 12, hold: 0, drops: 0, rate: 0 }));
    this.queueAt = new Float32Array(STEPS_KEPT);
    this.dropsAt = new Uint8Array(STEPS_KEPT);
    this.outAt = new Float32Array(STEPS_KEPT);
    this.limitAt = new Float32Array(STEPS_KEPT);
    // Windows of the flows, and their drops, every 100 ms.
    this.windowsAt = [];
    this.lost = new Map();
    this.startUnixMs = 0;
    this.packetsKeptMs = 120_000;
    // Spans in which the switch reported nothing, ms.
    this.silences = [];
  }

  get bytesPerMs() {
    return this.capacityBps / 8000;
  }

  stepTo(ms) {
    while (this.now < ms) this.step();
  }

  step() {
    const delay = this.queue / this.bytesPerMs;
    let arriving = 0;
    for (const f of this.flows) {
      const cap = f.cls === 'WL' ? f.maxWindow : f.cls === 'RBP' ? f.maxRate * (f.rtt + delay) : Infinity;
      const w = Math.min(f.window, cap);
      f.rate = (w * FRAME) / (f.rtt + delay); // bytes per ms
      arriving += f.rate * (0.85 + 0.3 * this.random());
      if (f.hold > 0) f.hold -= 1;
      else if (f.window < cap) f.window += 0.55 / (f.rtt + delay);
    }
    const served = Math.min(this.queue + arriving, this.bytesPerMs);
    this.queue += arriving - served;
    let drops = 0;
    if (this.queue > this.limitBytes) {
      // A loss event hits about half of the flows at once.
      const burst = 2 + Math.floor(this.random() * this.flows.length * 0.9);
      for (let i = 0; i < burst; i += 1) this.lose();
      drops = burst;
      this.queue = this.limitBytes - FRAME;
    }
    const k = this.now % STEPS_KEPT;
    this.queueAt[k] = this.queue;
    this.dropsAt[k] = Math.min(255, drops);
    this.outAt[k] = served;
    this.limitAt[k] = this.limitBytes;
    this.now += 1;
    if (this.now % 100 === 0) this.keepWindows();
  }

  keepWindows() {
    this.windowsAt.push({
      time: this.now - 100,
      windows: this.flows.map((f) => Math.round(Math.min(f.window, f.maxWindow ?? Infinity))),
      drops: this.flows.map((f) => this.lost.get(f.id) ?? 0),
    });
    this.lost.clear();
    if (this.windowsAt.length > STEPS_KEPT / 100) this.windowsAt.shift();
  }

  windows(fromMs, toMs, most, ids) {
    const all = this.windowsAt.filter((w) => w.time >= fromMs && w.time < toMs);
    const every = Math.max(1, Math.ceil(all.length / most));
    const steps = all.filter((_, i) => i % every === every - 1);
    const sum = (w) => w.windows.reduce((a, b) => a + b, 0);
    // One packet of each window is yet to be sent.
    const inFlight = (packets, flows) => (packets - flows) * FRAME;
    return {
      node: this.node, port: this.port, queue: 0, step_ns: 1e8 * every, time_ns: steps.map((w) => w.time * 1e6),
      cwnd_sum_pkts: steps.map(sum), in_flight_sum_bytes: steps.map((w) => inFlight(sum(w), w.windows.length)),
      probed_flows: steps.map((w) => w.windows.length), data_flows: steps.map((w) => w.windows.length),
      flows: ids.map((id) => {
        const k = this.flows.findIndex((f) => f.id === id);
        const column = (f) => steps.map((w) => (k < 0 ? null : f(w)));
        return {
          flow: id, cwnd_pkts: column((w) => w.windows[k]), in_flight_bytes: column((w) => inFlight(w.windows[k], 1)),
          drops: column((w) => w.drops[k]).map((d) => d ?? 0), ce_marked: steps.map(() => 0),
        };
      }),
    };
  }

  lose() {
    let pick = this.random() * this.flows.reduce((s, f) => s + f.rate, 0);
    for (const f of this.flows) {
      pick -= f.rate;
      if (pick > 0) continue;
      f.drops += 1;
      this.lost.set(f.id, (this.lost.get(f.id) ?? 0) + 1);
      if (f.hold === 0) {
        f.window = Math.max(2, f.window * (f.control === 'cubic' ? 0.7 : 0.5));
        f.hold = Math.round(f.rtt + this.queue / this.bytesPerMs);
      }
      return;
    }
  }

  oldest() {
    return Math.max(0, this.now - STEPS_KEPT);
  }

  series(fromMs, toMs, stepMs) {
    const out = {
      node: this.node,
      port: this.port, queue: 0,
      step_ns: stepMs * 1e6,
      time_ns: [],
      occupancy_p50_bytes: [],
      occupancy_p99_bytes: [],
      occupancy_max_bytes: [],
      delay_p50_ms: [],
      delay_p99_ms: [],
      delay_max_ms: [],
      utilisation: [],
      packets: [],
      arrivals: [],
      drops: [],
      ce_marked: [],
      limit_bytes: [],
      reports_lost: [],
    };
    const first = Math.ceil(Math.max(this.oldest(), fromMs) / stepMs) * stepMs;
    for (let t = first; t + stepMs <= Math.min(toMs, this.now); t += stepMs) {
      if (this.silences.some(([from, to]) => t >= from && t < to)) {
        for (const [name, column] of Object.entries(out)) if (Array.isArray(column)) column.push(name === 'time_ns' ? t * 1e6 : name === 'reports_lost' ? 0 : null);
        continue;
      }
      const q = [];
      let drops = 0;
      let sent = 0;
      for (let i = t; i < t + stepMs; i += 1) {
        const k = i % STEPS_KEPT;
        q.push(this.queueAt[k] * (0.97 + 0.06 * this.random()));
        drops += this.dropsAt[k];
        sent += this.outAt[k];
      }
      q.sort((a, b) => a - b);
      const limit = this.limitAt[t % STEPS_KEPT];
      const at = (p) => Math.min(limit, Math.round(q[Math.min(q.length - 1, Math.floor(q.length * p))]));
      const packets = Math.round(sent / FRAME);
      const ms = (b) => b / this.bytesPerMs;
      out.time_ns.push(t * 1e6);
      out.occupancy_p50_bytes.push(at(0.5));
      out.occupancy_p99_bytes.push(at(0.99));
      out.occupancy_max_bytes.push(at(1));
      out.delay_p50_ms.push(ms(at(0.5)));
      out.delay_p99_ms.push(ms(at(0.99)));
      out.delay_max_ms.push(ms(at(1)));
      out.utilisation.push(sent / (this.bytesPerMs * stepMs));
      out.packets.push(packets);
      out.arrivals.push(packets + drops);
      out.drops.push(drops);
      out.ce_marked.push(0);
      out.limit_bytes.push(limit);
      out.reports_lost.push(0);
    }
    return out;
  }

  distribution(fromMs, toMs) {
    const counts = new Map();
    let limit = null;
    let from = null;
    const end = Math.min(toMs, this.now);
    for (let t = Math.floor(end) - 1; t >= Math.max(fromMs, this.now - STEPS_KEPT + 1, 0); t -= 1) {
      const k = t % STEPS_KEPT;
      limit ??= this.limitAt[k];
      if (this.limitAt[k] !== limit) break;
      from = t;
      const bin = Math.floor(this.queueAt[k] / FRAME);
      const n = Math.round(this.outAt[k] / FRAME) + this.dropsAt[k];
      if (n > 0) counts.set(bin, (counts.get(bin) ?? 0) + n);
    }
    const bins = [...counts.keys()].sort((a, b) => a - b);
    const total = [...counts.values()].reduce((a, b) => a + b, 0);
    const quantile = (q) => {
      let seen = 0;
      for (const b of bins) {
        seen += counts.get(b);
        if (seen >= q * total) return b * FRAME;
      }
      return null;
    };
    const max = (bins.at(-1) ?? 0) * FRAME;
    return {
      node: this.node, port: this.port, queue: 0, from_ns: (from ?? 0) * 1e6, to_ns: Math.floor(end) * 1e6, limit_bytes: limit ?? 0,
      arrivals: total, p50_bytes: quantile(0.5), p99_bytes: quantile(0.99), max_bytes: max,
      low_bytes: bins.map((b) => b * FRAME), high_bytes: bins.map((b) => (b + 1) * FRAME), count: bins.map((b) => counts.get(b)),
    };
  }

  packets(fromMs, toMs, most) {
    const span = { from_ns: Math.round(fromMs * 1e6), to_ns: Math.round(toMs * 1e6) };
    const out = { node: this.node, port: this.port, queue: 0, ...span, ingress_ns: [], egress_ns: [], occupancy_bytes: [], flow_id: [], dropped: [], ip_bytes: [], cwnd: [], tcp_seq: [], ce_marked: [], truncated: false, oldest_ns: Math.max(this.now - this.packetsKeptMs, 0) * 1e6 };
    // Only the last minutes are remembered, as in a collector.
    for (let t = Math.ceil(Math.max(fromMs, this.now - this.packetsKeptMs, 0)); t < Math.min(toMs, this.now); t += 1) {
      const k = t % STEPS_KEPT;
      const n = Math.round(this.outAt[k] / FRAME) + this.dropsAt[k];
      for (let i = 0; i < n; i += 1) {
        if (out.ingress_ns.length >= most) {
          out.truncated = true;
          return out;
        }
        const dropped = i >= n - this.dropsAt[k];
        const flow = this.flows[Math.floor(this.random() * this.flows.length)];
        const q = dropped ? this.limitAt[k] : Math.max(0, this.queueAt[k] + (this.random() - 0.5) * 4 * FRAME);
        const ingress = Math.round((t + i / n) * 1e6);
        out.ingress_ns.push(ingress);
        out.egress_ns.push(dropped ? 0 : Math.round(ingress + (q / this.bytesPerMs) * 1e6));
        out.occupancy_bytes.push(Math.round(Math.min(q, this.limitAt[k])));
        out.flow_id.push(flow.id);
        out.dropped.push(dropped);
        out.ip_bytes.push(1500);
        out.cwnd.push(Math.round(flow.window));
        out.tcp_seq.push(1448 * out.tcp_seq.length);
        out.ce_marked.push(false);
      }
    }
    return out;
  }
}
