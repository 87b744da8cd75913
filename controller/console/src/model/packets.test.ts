// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { packetsAt } from '../../test/packets';
import { flowColours, joined, nearest, neighbours, PACKET_BYTES, within } from './packets';

describe('flowColours', () => {
  it('gives chosen flows theirs first, then those with most packets', () => {
    const p = packetsAt([1, 2, 3, 4, 5], [7, 7, 9, 9, 9]);
    expect([...flowColours(['4'], p)]).toEqual([['4', 4], ['9', 1], ['7', 7]]);
    expect(flowColours([], packetsAt(Array.from({ length: 20 }, (_, i) => i), Array.from({ length: 20 }, (_, i) => i))).size).toBe(8);
  });

  it('keeps the colour of a flow whatever others are chosen, in whatever order', () => {
    expect(flowColours(['3', '5', '6'], null).get('5')).toBe(flowColours(['6', '5'], null).get('5'));
    // If a colour is taken, the next free one is used.
    expect([...flowColours(['3', '11', '19'], null).values()]).toEqual([3, 4, 5]);
  });
});

describe('one packet', () => {
  const p = packetsAt([1, 2, 3, 4], [1, 2, 1, 2]);
  const place = { x: (t: number) => t * 10, y: (b: number) => b / 100 };

  it('is the nearest one within reach', () => {
    expect(nearest(p, 21, 11, 5, place, 0, 10)).toBe(1);
    expect(nearest(p, 26, 30, 5, place, 0, 10)).toBeNull();
    // A packet outside of the picture is not found.
    expect(nearest(p, 10, 0, 5, place, 1.5, 10)).toBeNull();
  });

  it('has neighbours in the queue and in its flow', () => {
    expect(neighbours(p, 2)).toEqual({ before: 1, after: 3, flowBefore: 0, flowAfter: null });
  });
});

describe('parts and sums', () => {
  it('are of the same packets', () => {
    const p = packetsAt([1, 2, 3, 4], [1, 2, 1, 2]);
    expect([...within(p, 2, 4).time]).toEqual([2, 3]);
    expect(joined([within(p, 0, 2), within(p, 2, 3), within(p, 3, 9)])).toEqual({ ...p, oldest: 1 });
    expect(joined([])).toBeNull();
  });

  it('take the memory that is counted', () => {
    const columns = Object.values(packetsAt([1, 2])).filter((c) => ArrayBuffer.isView(c));
    expect(columns.reduce((n, c) => n + c.byteLength, 0)).toBe(2 * PACKET_BYTES);
  });
});
