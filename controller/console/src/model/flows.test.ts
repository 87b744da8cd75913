// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { filterFlows, share, sortFlows } from './flows';
import type { Flow } from './types';

function flow(id: string, more: Partial<Flow>): Flow {
  return {
    id,
    src: `10.0.0.${id}:1`,
    dst: '10.0.5.1:5001',
    protocol: 'TCP',
    cls: 'LBP',
    confidence: 1,
    why: '',
    evidence: 'probed',
    rateBps: 1,
    drops: 0,
    activeFraction: 1,
    cwndPkts: null,
    srttMs: null,
    baseRttMs: null,
    control: 'cubic',
    ...more,
  };
}

describe('sortFlows', () => {
  it('puts the classes that matter first and keeps ties in a fixed order', () => {
    const flows = [flow('10', { cls: 'SHORT' }), flow('9', {}), flow('2', {}), flow('3', { cls: 'WL' })];
    expect(sortFlows(flows, 'cls', false).map((f) => f.id)).toEqual(['2', '9', '3', '10']);
    expect(sortFlows([...flows].reverse(), 'cls', false).map((f) => f.id)).toEqual(['2', '9', '3', '10']);
  });

  it('keeps unknown values last in both directions', () => {
    const flows = [flow('1', { cwndPkts: null }), flow('2', { cwndPkts: 5 }), flow('3', { cwndPkts: 50 })];
    expect(sortFlows(flows, 'cwnd', true).map((f) => f.id)).toEqual(['3', '2', '1']);
    expect(sortFlows(flows, 'cwnd', false).map((f) => f.id)).toEqual(['2', '3', '1']);
  });
});

describe('filterFlows', () => {
  it('finds flows by every word of addresses, class and congestion control', () => {
    const flows = [flow('1', {}), flow('2', { cls: 'WL' }), flow('3', { control: 'reno' })];
    expect(filterFlows(flows, 'lbp reno').map((f) => f.id)).toEqual(['3']);
    expect(filterFlows(flows, '10.0.0.2').map((f) => f.id)).toEqual(['2']);
    expect(filterFlows(flows, ' ').length).toBe(3);
  });
});

describe('share', () => {
  it('is of the whole window', () => {
    expect(share(flow('1', { rateBps: 50, activeFraction: 0.5 }), 100)).toBe(0.25);
    expect(share(flow('1', { rateBps: 50 }), null)).toBeNull();
  });
});
