// SPDX-License-Identifier: Apache-2.0
// Terms of the field, explained where they stand: a short text on the term
// itself, and a link into the documentation that the controller serves.

import { h, symbol } from '../dom';

const TERMS = {
  LBP: 'Locally bottlenecked, persistent: a long flow that loses packets here and nowhere else',
  RBP: 'Remotely bottlenecked, persistent: a long flow that loses its packets elsewhere',
  WL: 'Window-limited, persistent: a long flow held back by its receiver’s or sender’s window',
  SHORT: 'A flow that never left slow start',
  OTHER: 'Not TCP',
  cwnd: 'Congestion window: the segments that a sender may have in flight',
  srtt: 'Smoothed round-trip time, as the sender’s TCP measures it',
  BDP: 'Bandwidth-delay product: what fits on the way, without the queue',
  CE: 'Congestion experienced: the mark that a switch sets in place of a drop (ECN)',
  BSCL: 'Buffer Sizing for Congested Internet Links (Dhamdhere, Jiang, Dovrolis)',
  UTB: 'Updating the Theory of Buffer Sizing (Spang, Arslan, McKeown)',
  SRB: 'Sizing Router Buffers (Appenzeller, Keslassy, McKeown)',
  NGI: 'Buffer Sizing for Elastic Traffic, NGI 2006 (Augé, Roberts)',
  N_b: 'Flows bottlenecked at this link',
  α: 'Packets that a loss event drops on average, over N_b',
  Δ: 'Fairness: the factor of an equal share within which the windows of the flows lie (UTB)',
  T_e: 'Effective round-trip time: harmonic mean of the base RTTs of the flows bottlenecked here',
  C_e: 'Part of the capacity that the flows bottlenecked here get',
  p50: 'Median',
  p99: '99th percentile',
} as const;

export type Term = keyof typeof TERMS;

/** A term with its explanation. */
export function term(name: Term, shown: string | HTMLElement = name): HTMLElement {
  return h('abbr', { title: TERMS[name] }, shown);
}

/** The symbol at the head of a column. */
export const N_B = (): HTMLElement => symbol('N', 'b');

/** What a class of flows means. */
export function meaning(name: Term): string {
  return TERMS[name];
}

/** Text in which every paper that is named is explained. */
export function explained(text: string): (HTMLElement | string)[] {
  return text
    .split(/\b(BSCL|UTB|SRB|NGI|LBP|RBP|WL|BDP)\b/)
    .filter((p) => p !== '')
    .map((p) => (p in TERMS ? term(p as Term) : p));
}

/** A link to a page of the documentation. */
export function docs(page: string, words: string, about: string): HTMLElement {
  return h('a', { class: 'docs', href: `docs/${page}`, target: '_blank', rel: 'noopener', title: about, 'aria-label': words === '?' ? about : `${words}: ${about}` }, words);
}
