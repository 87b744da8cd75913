// SPDX-License-Identifier: Apache-2.0
// The stand-in's rules and advice. The numbers are near what the formulas give for its
// link; they are not computed by the product.

/** A full frame in the queue, bytes. */
export const M = 1514;

export function predicted(utilisation, loss, delay) {
  const near = (v, e) => ({ value: v, low: Math.max(0, v * (1 - e)), high: v * (1 + e) });
  return {
    utilisation: { value: utilisation, low: utilisation - 0.012, high: Math.min(1, utilisation + 0.006) },
    loss_rate: near(loss, 0.3),
    delay_ms: near(delay, 0),
    delay_mean_ms: near(delay / 2, 0.2),
  };
}

function rule(id, name, bufferBytes, applies, formula, source, assumptions, goals = ['utilisation'], missing = null) {
  return {
    id,
    name,
    buffer_bytes: bufferBytes,
    buffer_packets: bufferBytes === null ? null : bufferBytes / M,
    buffer_ms: bufferBytes === null ? null : bufferBytes / 12_500,
    inputs: [
      { name: 'N_b', value: 12, unit: 'flows' },
      { name: 'T_e', value: 19.2, unit: 'ms' },
    ],
    assumptions: assumptions.map(([text, holds]) => ({ text, holds })),
    applies,
    missing,
    goals,
    formula,
    source,
  };
}

export function rules() {
  return [
    rule('bdp', 'C·T̄ (rule of thumb)', 312_500, true, 'B = C·T̄', 'BSCL §I; UTB §3.1', [['sufficient whatever the synchronisation', true]]),
    rule('c_te', 'C·Tₑ', 240_000, true, 'B = C·Tₑ', 'BSCL eq. 11', [['global synchronisation assumed; sufficient without', true]]),
    rule('stanford', 'Stanford √n', 90_200, false, 'B = C·T̄/√N', 'SRB; BSCL eq. 1', [['N in the hundreds (12 seen)', false], ['desynchronised', null]]),
    rule('bscl_utilisation', 'BSCL utilisation', 52_700, true, 'B_ρ = (q·Cₑ·Tₑ − 2·M·N_b·(1−q))/(2−q)', 'BSCL eq. 16', [['N_b below 80 (12)', true], ['loss below 4 % (0.62 %)', true]]),
    rule('bscl_loss', 'BSCL loss', 0, true, 'B_p = K_p·M·N_b − Cₑ·Tₑ', 'BSCL eq. 21-22', [['LBP share at least 0.8 (0.89)', true]], ['loss']),
    rule('bscl', 'BSCL', 158_000, true, 'B = max(B_ρ, B_p, 0)', 'BSCL Fig. 4, §VII', [['LBP share at least 0.8 (0.89)', true]], ['utilisation', 'loss']),
    rule('fpq', 'Flow-proportional', 145_300, false, 'B = 6·M·N', 'BSCL §IV-A', [['historical comparison only', false]], []),
    rule('utb_sqrt', 'UTB √n', 235_600, false, 'B = Δ·BDP/√n', 'UTB Thm 5-6', [['D ≤ n²/(Δ·BDP) + √n in 93 % of lossy RTTs, wanted 95 %', false]]),
    rule('utb_desync', 'UTB desynchronised', 40_800, true, 'B = s·Δ·BDP/n', 'UTB eq. 3, §4.6', [['s measured', true], ['flows are bottlenecked at this link', null]]),
    rule('utb_bbr', 'UTB BBR', null, false, 'B > Δ·BDP/√(2n)·√(ln 1/δ)', 'UTB Thm 8', [], ['utilisation'], 'No BBR flow was seen.'),
    rule('single_cubic', 'Single CUBIC flow', 1_102_800, false, 'B = (1/β − 1)·BDP', 'UTB §3.5', [['one flow (12 bottlenecked)', false]]),
    rule('delay', 'Delay bound', 375_000, true, 'B ≤ C·d̂', 'BSCL eq. 24', [['d̂ = 30 ms', true]], ['delay']),
  ];
}

/** What the advice says; tests move it. */
export const ADVISED = { bytes: 158_000 };

/** The conclusion from it. */
export function verdict(link) {
  return {
    version: 1,
    answer: 'too_big',
    cannot_say: null,
    in_force_bytes: link.limitBytes,
    low_bytes: 140_000,
    set_bytes: ADVISED.bytes,
    high_bytes: 189_600,
    confidence: 0.9,
    chance: 0.93,
    because: 'at 312 kB utilisation is 99.0 % for 98.0 % and loss 0.60 % for 1.00 %; 158 kB meets the targets with a probability of 93 %',
    reasons: [],
    measured: [],
    loss_by: 'measured_loss',
    utilisation_by: 'measured_utilisation',
    evidence: { seconds: 60, loss_events: 84, limits_tried: 0, understood: 1 },
    would_change: [],
  };
}

export function advice(link, full) {
  const a = {
    confidence_asked: 0.9,
    regime: 'elastic',
    limit_bytes: ADVISED.bytes,
    limit_packets: ADVISED.bytes / M,
    limit_ms: ADVISED.bytes / 12_500,
    rule: 'bscl',
    decided_by: 'utilisation',
    feasible: true,
    infeasible: null,
    predicted: predicted(0.984, 0.0078, 12.6),
    present: {
      limit_bytes: link.limitBytes,
      predicted: predicted(0.999, 0.0049, link.limitBytes / link.bytesPerMs),
      measured: { utilisation: 0.991, loss_rate: 0.0062, drops: 502, delay_mean_ms: 12.1, delay_p50_ms: 12.4, delay_p99_ms: 24.8, delay_max_ms: 25.1 },
    },
    reasons: [
      'The link is elastic: 12 flows are bottlenecked here and carry 89 % of capacity.',
      'Utilisation of 98 % needs 158 kB (BSCL).',
      'Loss of 1 % needs no more than that.',
      'The delay bound of 30 ms would allow 375 kB.',
    ],
  };
  if (full) {
    a.rules = rules();
    a.rejected = a.rules.filter((r) => !r.applies).map((r) => ({ id: r.id, name: r.name, reasons: [r.missing ?? r.assumptions.filter((x) => x.holds === false).map((x) => `does not hold: ${x.text}`).join('; ')] }));
  }
  return a;
}
