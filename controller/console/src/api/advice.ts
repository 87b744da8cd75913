// SPDX-License-Identifier: Apache-2.0
// Reads advice, its rules and targets, and limits. The page's types follow from these readers.

import type * as api from './generated';
import { interval } from './estimate';
import { boolean, fields, list, number, string, strings } from './json';

export type Targets = ReturnType<typeof targets>;

export function targets(v: unknown) {
  const o = fields<api.Targets>(v);
  return {
    utilisation: number(o.utilisation),
    lossRate: number(o.loss_rate),
    delayMs: number(o.delay_ms),
    priority: strings(o.priority),
    confidence: number(o.confidence) ?? 0.9,
    margin: number(o.margin) ?? 0,
  };
}

export type Prediction = NonNullable<ReturnType<typeof prediction>>;

function prediction(v: unknown) {
  const o = fields<api.Prediction>(v);
  const p = {
    utilisation: interval(o.utilisation),
    lossRate: interval(o.loss_rate),
    /** The largest delay, and the mean. */
    delayMs: interval(o.delay_ms),
    delayMeanMs: interval(o.delay_mean_ms),
  };
  return p.utilisation || p.lossRate || p.delayMs ? p : null;
}

export type Rule = ReturnType<typeof rule>;

export function rule(v: unknown) {
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

export type Limit = NonNullable<ReturnType<typeof limit>>;

export function limit(v: unknown) {
  const o = fields<Partial<Record<'action' | 'threshold_bytes' | 'limit_bytes', unknown>>>(v);
  const action = string(o.action);
  if (!action) return null;
  /** From here on every packet is refused; null if only the switch's queue depth counts. */
  const refusesAtBytes = number(o.limit_bytes);
  /** The value that acts first: the limit, or the threshold of a port that marks. */
  const bytes = action === 'mark_ce' ? number(o.threshold_bytes) : refusesAtBytes;
  return { action, bytes, refusesAtBytes };
}

export type Marking = NonNullable<ReturnType<typeof marking>>;

/** For a port that marks: the limit above the advised threshold. */
function marking(v: unknown) {
  const o = fields<api.Marking>(v);
  const limitBytes = number(o.limit_bytes);
  return limitBytes === null ? null : { limitBytes, limitMs: number(o.limit_ms), reason: string(o.reason) };
}

/** Reads advice; it has no rules if the message has none. */
export function advice(v: unknown) {
  const o = fields<api.Advice>(v);
  if (Object.keys(o).length === 0) return null;
  const present = fields<api.Present>(o.present);
  const measured = fields<api.Observed>(present.measured);
  return {
    /** The limit, or the threshold of a port that marks. */
    advisedBytes: number(o.limit_bytes),
    marking: marking(o.marking),
    rule: string(o.rule),
    givenUp: strings(fields<api.Infeasibility>(o.infeasible).given_up),
    reasons: strings(o.reasons),
    predicted: prediction(o.predicted),
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

export type AdviceState = NonNullable<ReturnType<typeof adviceState>>;

/** Reads advice together with whether it may be applied now. */
export function adviceState(v: unknown) {
  const o = fields<api.AdviceState>(v);
  const a = advice(o.advice);
  const node = number(o.node);
  const port = number(o.port);
  if (!a || node === null || o.port === undefined) return null;
  return { link: { node, port, queue: number(o.queue) ?? 0 }, advice: a, targets: targets(o.targets), canApply: o.can_apply === true, whyNot: string(o.why_not) };
}

export type CurvePoint = { bufferBytes: number; predicted: Prediction };

/** Reads the points in order of their limits. */
export function curve(v: unknown): CurvePoint[] {
  return list(v).flatMap((p) => {
    const o = fields<api.CurvePoint>(p);
    const bufferBytes = number(o.buffer_bytes);
    const predicted = prediction(o.predicted);
    return bufferBytes === null || !predicted ? [] : [{ bufferBytes, predicted }];
  });
}
