// SPDX-License-Identifier: Apache-2.0
// The controller writes symbols as text (N_b, T_e, B_ρ); the page sets them as
// symbols with subscripts.

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
