// SPDX-License-Identifier: Apache-2.0
// Packets for tests of showing and keeping them.

import type { Packets } from '../src/model/types';

/** Creates packets at these times, of these flows; each meets 1000 bytes more than the last. */
export function packetsAt(time: readonly number[], flow: readonly number[] = time.map(() => 1), more: Partial<Packets> = {}): Packets {
  const n = time.length;
  return {
    time: Float64Array.from(time),
    left: Float64Array.from(time, (t) => t + 0.01),
    occupancy: Float64Array.from(time, (_, i) => i * 1000),
    dropped: new Uint8Array(n),
    ce: new Uint8Array(n),
    flow: Float64Array.from(flow),
    cwnd: new Uint32Array(n),
    seq: new Uint32Array(n),
    ipBytes: new Uint16Array(n),
    truncated: false,
    oldest: time[0] ?? null,
    ...more,
  };
}
