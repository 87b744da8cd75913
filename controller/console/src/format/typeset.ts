// SPDX-License-Identifier: Apache-2.0
// Typesets symbols, which the controller writes as text (N_b, T_e, B_ρ), and formulas, which it
// writes as code (delta*BDP/sqrt(n)), as a paper does.

export interface Piece {
  text: string;
  /** Subscript of a symbol; empty for plain text. */
  sub: string;
}

const SYMBOL = /(?<![\p{L}\p{M}\p{N}_])(\p{L}\p{M}*)_(\p{L}{1,3}|\d)(?![\p{L}\p{N}_])/gu;

export function pieces(s: string): Piece[] {
  const out: Piece[] = [];
  let at = 0;
  for (const m of s.matchAll(SYMBOL)) {
    if (m.index > at) out.push({ text: s.slice(at, m.index), sub: '' });
    out.push({ text: m[1] ?? '', sub: m[2] ?? '' });
    at = m.index + m[0].length;
  }
  if (at < s.length) out.push({ text: s.slice(at), sub: '' });
  return out;
}

/** Names of quantities in formulas; longer names come first. */
const NAMES: readonly [string, string][] = [
  ['delta_p', 'δ'],
  ['delta', 'Δ'],
  ['alpha', 'α'],
  ['beta', 'β'],
  ['gamma', 'γ'],
  ['rho', 'ρ'],
  ['T_mean', 'T̄'],
];
const NAME = new RegExp(`(?<![\\p{L}\\p{N}])(${NAMES.map(([n]) => n).join('|')})(?![\\p{L}\\p{N}_])`, 'gu');

/** Typesets a formula, or the name of one of its inputs; ranges and hyphens of words stay. */
export function formula(code: string): string {
  return code
    .replace(NAME, (name) => NAMES.find(([n]) => n === name)?.[1] ?? name)
    .replaceAll('sqrt(', '√(')
    .replaceAll('*', '·')
    .replaceAll('<=', '≤')
    .replaceAll('>=', '≥')
    .replace(/ - |(?<=[=(] ?)-|(?<=\d)-(?=\p{L})/gu, (minus) => minus.replace('-', '−'));
}
