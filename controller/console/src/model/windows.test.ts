// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { Series } from './series';
import { COLUMNS } from './recording';
import type { Flow, Link, WindowColumns } from './types';
import { bdpBytes, beyondQueueBytes, firstChoice, queueAt, unbridged, WindowRecord } from './windows';

function columns(time: number[], cwnd: number): WindowColumns {
  const same = time.map(() => cwnd);
  return {
    stepSeconds: 1, time, cwndSumPkts: same, inFlightSumBytes: same, probedFlows: time.map(() => 1), dataFlows: time.map(() => 1),
    flows: [{ id: '7', cwndPkts: same, inFlightBytes: same, drops: time.map(() => 0), ce: time.map(() => 0) }],
  };
}

describe('WindowRecord', () => {
  it('replaces the step that was incomplete and keeps the rest', () => {
    const r = new WindowRecord(['7']);
    r.add(columns([0, 1, 2], 10));
    r.add(columns([2, 3], 20));
    expect(r.columns.time).toEqual([0, 1, 2, 3]);
    expect(r.columns.flows[0]?.cwndPkts).toEqual([10, 10, 20, 20]);
  });

  it('begins again with another step', () => {
    const r = new WindowRecord(['7']);
    r.add(columns([0, 1, 2], 10));
    r.add({ ...columns([4], 5), stepSeconds: 2 });
    expect(r.columns.time).toEqual([4]);
  });

  it('is bounded', () => {
    const r = new WindowRecord(['7']);
    r.add(columns(Array.from({ length: 12_000 }, (_, i) => i), 1));
    r.add(columns([12_000, 12_001], 2));
    expect(r.columns.time.length).toBe(12_000);
    expect(r.columns.flows[0]?.cwndPkts.length).toBe(12_000);
    expect(r.lastTime).toBe(12_001);
  });
});

const flow = (id: string, cls: Flow['cls'], rateBps: number, baseRttMs: number | null = 20): Flow => ({ id, cls, rateBps, baseRttMs, activeFraction: 1, cwndPkts: 10 }) as Flow;

describe('firstChoice', () => {
  it('takes the largest flows bottlenecked here', () => {
    expect(firstChoice([flow('1', 'RBP', 9e9), flow('2', 'LBP', 1), flow('3', 'LBP', 2), flow('4', 'SHORT', 9e9)])).toEqual(['1', '2', '3']);
  });
});

describe('bdpBytes', () => {
  it('weights the base RTT by rate', () => {
    const l = { capacityBps: 100e6, estimate: { drainBps: 80e6, flows: [flow('1', 'LBP', 30, 10), flow('2', 'LBP', 10, 50), flow('3', 'WL', 99, null)] } } as Link;
    // (30*10 + 10*50)/40 = 20 ms at 10 MB/s
    expect(bdpBytes(l)).toBeCloseTo(200_000);
    expect(beyondQueueBytes(l, 1514)).toBeCloseTo(201_514);
    expect(bdpBytes({ capacityBps: null, estimate: null } as Link)).toBeNull();
  });
});

describe('queueAt', () => {
  it('is the mean over the step', () => {
    const s = new Series(COLUMNS, 100);
    for (let i = 0; i < 6; i += 1) s.push(i / 2, { occP50: i === 3 ? null : i * 10 });
    expect(queueAt(s, [0, 1, 2, 7], 1)).toEqual([5, 20, 45, null]);
  });
});

describe('lines of windows', () => {
  it('go over what is usual between samples, and over no more', () => {
    // A hundred places are a second.
    expect(unbridged([[0, 60], [100, 1500]], (place) => place / 100)).toEqual([[100, 1500]]);
  });
});
