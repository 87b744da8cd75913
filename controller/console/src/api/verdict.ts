// SPDX-License-Identifier: Apache-2.0
// Reads the verdict on a link's buffer.

import { curve } from './advice';
import { interval } from './estimate';
import type * as api from './generated';
import { fields, list, number, string, strings } from './json';

export type Verdict = NonNullable<ReturnType<typeof verdict>>;

/** Reads a verdict; it has no curve if the message has none. */
export function verdict(v: unknown) {
  const o = fields<api.Verdict>(v);
  const answer = string(o.answer);
  if (!answer) return null;
  const evidence = fields<api.Evidence2>(o.evidence);
  return {
    answer,
    inForceBytes: number(o.in_force_bytes),
    lowBytes: number(o.low_bytes),
    setBytes: number(o.set_bytes),
    highBytes: number(o.high_bytes),
    /** Probability that every target is met at `setBytes`. */
    chance: number(o.chance),
    /** The limit that `setBytes` is a step towards. */
    towardsBytes: number(o.towards_bytes),
    because: string(o.because),
    measured: list(o.measured).flatMap((m) => measured(m) ?? []),
    curve: curve(o.curve),
    evidence: { seconds: number(evidence.seconds), lossEvents: number(evidence.loss_events), limitsTried: number(evidence.limits_tried) },
    wouldChange: strings(o.would_change),
  };
}

export type MeasuredLimit = NonNullable<ReturnType<typeof measured>>;

function measured(v: unknown) {
  const o = fields<api.MeasuredLimit>(v);
  const limitBytes = number(o.limit_bytes);
  if (limitBytes === null) return null;
  return { limitBytes, utilisation: interval(o.utilisation), lossRate: interval(o.loss_rate), delayMeanMs: number(o.delay_mean_ms) };
}

/** Reads the verdict from the answer to a request for one link. */
export function verdictState(v: unknown): Verdict | null {
  return verdict(fields<api.VerdictState>(v).verdict);
}
