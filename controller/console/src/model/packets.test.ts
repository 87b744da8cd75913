// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { flowColours, nearest, neighbours, PacketShelf, within } from './packets';
import type { Packets } from './types';

function packets(time: number[], flow: number[] = time.map(() => 1), more: Partial<Packets> = {}): Packets {
  const zero = time.map(() => 0);
  return {
    time, flow, left: time.map((t) => t + 0.01), occupancy: time.map((_, i) => i * 1000), dropped: time.map(() => false), ce: time.map(() => false),
    cwnd: zero, seq: zero, ipBytes: zero, truncated: false, oldest: null, ...more,
  };
}

describe('flowColours', () => {
  it('gives chosen flows theirs first, then those with most packets', () => {
    const p = packets([1, 2, 3, 4, 5], [7, 7, 9, 9, 9]);
    expect([...flowColours(['4'], p)]).toEqual([['4', 0], ['9', 1], ['7', 2]]);
    expect(flowColours([], packets(Array.from({ length: 20 }, (_, i) => i), Array.from({ length: 20 }, (_, i) => i))).size).toBe(8);
  });
});

describe('one packet', () => {
  const p = packets([1, 2, 3, 4], [1, 2, 1, 2]);
  const place = { x: (t: number) => t * 10, y: (b: number) => b / 100 };

  it('is the nearest one within reach', () => {
    expect(nearest(p, 21, 11, 5, place, 0, 10)).toBe(1);
    expect(nearest(p, 26, 30, 5, place, 0, 10)).toBeNull();
    // Not one outside of the picture.
    expect(nearest(p, 10, 0, 5, place, 1.5, 10)).toBeNull();
  });

  it('has neighbours in the queue and in its flow', () => {
    expect(neighbours(p, 2)).toEqual({ before: 1, after: 3, flowBefore: 0, flowAfter: null });
  });
});

describe('PacketShelf', () => {
  it('keeps what was read, for every part of it', () => {
    const s = new PacketShelf(100);
    s.add(0, 10, packets([1, 2, 3, 4]));
    expect(s.find(1.5, 3.5)?.time).toEqual([2, 3]);
    expect(s.find(5, 11)).toBeNull();
  });

  it('does not claim what was cut off or forgotten', () => {
    const s = new PacketShelf(100);
    s.add(0, 10, packets([1, 2, 3], undefined, { truncated: true }));
    expect(s.find(0, 10)).toBeNull();
    expect(s.find(0, 2.5)?.time).toEqual([1, 2]);
    const late = new PacketShelf(100);
    late.add(0, 10, packets([6, 7], undefined, { oldest: 6 }));
    expect(late.find(1, 7)).toBeNull();
    expect(late.find(6, 7.5)?.time).toEqual([6, 7]);
  });

  it('is bounded and keeps the newest', () => {
    const s = new PacketShelf(5);
    s.add(0, 10, packets([1, 2, 3]));
    s.add(10, 20, packets([11, 12, 13]));
    expect(s.find(0, 10)).toBeNull();
    expect(s.find(10, 20)?.time.length).toBe(3);
    expect(within(packets([1, 2, 3]), 2, 3).time).toEqual([2]);
  });
});
