// SPDX-License-Identifier: Apache-2.0
// The operator's targets, as typed.

export interface TargetValues {
  utilisation: number;
  /** null = no bound. */
  lossRate: number | null;
  delayMs: number | null;
  /** Probability with which each target must be met. */
  confidence: number;
  /** Fraction inside the bounds at which the advice aims. */
  margin: number;
}

export interface TargetTexts {
  utilisationPercent: string;
  lossPercent: string;
  delayMs: string;
  confidencePercent: string;
  marginPercent: string;
}

function parse(text: string): number | null {
  const t = text.trim().replace(',', '.');
  if (t === '') return null;
  const v = Number(t);
  return Number.isFinite(v) ? v : Number.NaN;
}

/** Returns the values, or a message that says which one is wrong. */
export function parseTargets(t: TargetTexts): TargetValues | string {
  const utilisation = parse(t.utilisationPercent);
  if (utilisation === null || !(utilisation > 0 && utilisation <= 100)) return 'Utilisation: a share above 0 and up to 100 %.';
  const loss = parse(t.lossPercent);
  if (loss !== null && !(loss > 0 && loss < 100)) return 'Loss: above 0 and below 100 %, or empty for no bound.';
  const delay = parse(t.delayMs);
  if (delay !== null && !(delay > 0)) return 'Delay: above 0 ms, or empty for no bound.';
  const confidence = parse(t.confidencePercent);
  if (confidence === null || !(confidence >= 50 && confidence <= 99)) return 'Confidence: 50 to 99 %.';
  const margin = parse(t.marginPercent) ?? 0;
  if (!(margin >= 0 && margin < 100)) return 'Margin: from 0 to below 100 %.';
  const lossRate = loss === null ? null : loss / 100;
  return { utilisation: utilisation / 100, lossRate, delayMs: delay, confidence: confidence / 100, margin: margin / 100 };
}

/** Formats a share as the number a person would type: 0.98 is 98, not 98.00000000000001. */
export function asPercent(share: number | null): string {
  return share === null ? '' : String(Number((share * 100).toPrecision(12)));
}
