// SPDX-License-Identifier: Apache-2.0
// The conclusion on a link's buffer in one line.

import type { Verdict } from '../api/verdict';

const ANSWERS: Record<string, string> = { too_big: 'Buffer too big', fine: 'Buffer fine', too_small: 'Buffer too small' };

/** `size` says a number of bytes in the unit of the page. */
export function verdictLine(v: Verdict | null, size: (bytes: number | null) => string): string {
  if (!v) return 'No verdict yet';
  const answer = ANSWERS[v.answer];
  if (!answer) return 'Cannot say';
  const set = v.answer === 'fine' ? 'keep it' : `set ${size(v.setBytes)}`;
  return `${answer}: ${size(v.inForceBytes)} in force, ${size(v.lowBytes)} to ${size(v.highBytes)} serve; ${set}`;
}
