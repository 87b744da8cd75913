// SPDX-License-Identifier: Apache-2.0
// The conclusion on a link's buffer.

import { number, object, string } from './json';

export type Verdict = NonNullable<ReturnType<typeof verdict>>;

export function verdict(v: unknown) {
  const o = object(v);
  const answer = string(o.answer);
  if (!answer) return null;
  return {
    answer,
    inForceBytes: number(o.in_force_bytes),
    lowBytes: number(o.low_bytes),
    setBytes: number(o.set_bytes),
    highBytes: number(o.high_bytes),
    because: string(o.because),
  };
}
