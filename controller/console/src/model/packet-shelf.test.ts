// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { packetsAt } from '../../test/packets';
import { PacketShelf } from './packet-shelf';

describe('PacketShelf', () => {
  it('keeps what was read, for every part of it', () => {
    const s = new PacketShelf(100);
    s.add(0, 10, packetsAt([1, 2, 3, 4], undefined, { oldest: 0 }));
    expect([...(s.find(1.5, 3.5)?.time ?? [])]).toEqual([2, 3]);
    expect(s.find(5, 11)).toBeNull();
  });

  it('does not claim what was cut off or forgotten', () => {
    const s = new PacketShelf(100);
    s.add(0, 10, packetsAt([1, 2, 3], undefined, { truncated: true, oldest: 0 }));
    expect(s.find(0, 10)).toBeNull();
    expect([...(s.find(0, 2.5)?.time ?? [])]).toEqual([1, 2]);
    const late = new PacketShelf(100);
    late.add(0, 10, packetsAt([6, 7], undefined, { oldest: 6 }));
    expect(late.find(1, 7)).toBeNull();
    expect([...(late.find(6, 7.5)?.time ?? [])]).toEqual([6, 7]);
  });

  it('is bounded and keeps the newest', () => {
    const s = new PacketShelf(5);
    s.add(0, 10, packetsAt([1, 2, 3], undefined, { oldest: 0 }));
    s.add(10, 20, packetsAt([11, 12, 13], undefined, { oldest: 0 }));
    expect(s.find(0, 10)).toBeNull();
    expect(s.find(10, 20)?.time.length).toBe(3);
  });

  it('joins what was read piece by piece, and counts each packet once', () => {
    const s = new PacketShelf(100);
    s.add(0, 2, packetsAt([0.5, 1.5], undefined, { oldest: 0 }));
    // No packet arrived here, and that is known.
    s.add(2, 4, packetsAt([], undefined, { oldest: 0 }));
    s.add(4, 6, packetsAt([4.5, 5.5], undefined, { oldest: 0 }));
    s.add(5, 7, packetsAt([5.5, 6.5], undefined, { oldest: 0 }));
    expect([...(s.find(1, 6.8)?.time ?? [])]).toEqual([1.5, 4.5, 5.5, 6.5]);
    expect(s.count(1, 6.8)).toBe(4);
    expect(s.reach(0)).toBe(7);
    expect(s.reach(8)).toBe(8);
  });

  it('gives up first what was not looked for again', () => {
    const s = new PacketShelf(5);
    s.add(0, 1, packetsAt([0.1, 0.2], undefined, { oldest: 0 }));
    s.add(1, 2, packetsAt([1.1, 1.2], undefined, { oldest: 0 }));
    s.reach(0.5);
    s.add(5, 6, packetsAt([5.1, 5.2], undefined, { oldest: 0 }));
    expect(s.find(0, 1)).toBeNull();
    expect(s.find(1, 2)?.time.length).toBe(2);
  });
});
