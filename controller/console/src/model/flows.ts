// SPDX-License-Identifier: Apache-2.0
import type { Flow, FlowClass } from './types';

export type SortKey = 'cls' | 'src' | 'rate' | 'share' | 'cwnd' | 'srtt' | 'base' | 'drops';

const CLASS_ORDER: Record<FlowClass, number> = { LBP: 0, RBP: 1, WL: 2, OTHER: 3, SHORT: 4 };

/** Rate over the whole window, including the flow's pauses; bits/s. */
function meanRate(f: Flow): number | null {
  return f.rateBps === null ? null : f.rateBps * (f.activeFraction ?? 1);
}

/** Returns the share of the capacity that a flow takes; null without a capacity. */
export function share(f: Flow, capacityBps: number | null): number | null {
  const rate = meanRate(f);
  return rate === null || !capacityBps ? null : rate / capacityBps;
}

/** Returns the flows whose addresses, class, protocol or congestion control contain every word. */
export function filterFlows(flows: readonly Flow[], words: string): Flow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [...flows];
  return flows.filter((f) => {
    const t = `${f.src} ${f.dst} ${f.cls} ${f.control} ${f.protocol}`.toLowerCase();
    return wanted.every((x) => t.includes(x));
  });
}

const VALUES: Record<SortKey, (f: Flow) => number | string | null> = {
  cls: (f) => CLASS_ORDER[f.cls],
  src: (f) => f.src,
  rate: (f) => f.rateBps,
  share: meanRate,
  cwnd: (f) => f.cwndPkts,
  srtt: (f) => f.srttMs,
  base: (f) => f.baseRttMs,
  drops: (f) => f.drops,
};

/**
 * Returns a sorted copy; unknown values are last in either direction. Ties are broken by the flow's
 * name, so that rows do not change places at every update.
 */
export function sortFlows(flows: readonly Flow[], key: SortKey, descending: boolean): Flow[] {
  const sign = descending ? -1 : 1;
  const tie = (a: Flow, b: Flow): number => a.src.localeCompare(b.src, 'en', { numeric: true }) || a.id.localeCompare(b.id);
  return [...flows].sort((a, b) => {
    const x = VALUES[key](a);
    const y = VALUES[key](b);
    if (x === null || y === null) return x === y ? tie(a, b) : x === null ? 1 : -1;
    const d = typeof x === 'string' ? x.localeCompare(String(y), 'en', { numeric: true }) : x - Number(y);
    return d === 0 ? tie(a, b) : d * sign;
  });
}
