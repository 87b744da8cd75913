// SPDX-License-Identifier: Apache-2.0
import type { Flow, FlowClass } from './types';

export type SortKey = 'cls' | 'src' | 'rate' | 'cwnd' | 'srtt' | 'base' | 'drops';

const CLASS_ORDER: Record<FlowClass, number> = { LBP: 0, RBP: 1, WL: 2, OTHER: 3, SHORT: 4 };

function value(f: Flow, key: SortKey): number | string | null {
  switch (key) {
    case 'cls':
      return CLASS_ORDER[f.cls];
    case 'src':
      return f.src;
    case 'rate':
      return f.rateBps;
    case 'cwnd':
      return f.cwndPkts;
    case 'srtt':
      return f.srttMs;
    case 'base':
      return f.baseRttMs;
    case 'drops':
      return f.drops;
  }
}

/**
 * Sorted copy; unknown values last in either direction. Ties are broken by the
 * flow's own name, so that rows do not change places at every update.
 */
export function sortFlows(flows: readonly Flow[], key: SortKey, descending: boolean): Flow[] {
  const sign = descending ? -1 : 1;
  const tie = (a: Flow, b: Flow): number => a.src.localeCompare(b.src, 'en', { numeric: true }) || a.id.localeCompare(b.id);
  return [...flows].sort((a, b) => {
    const x = value(a, key);
    const y = value(b, key);
    if (x === null || y === null) return x === y ? tie(a, b) : x === null ? 1 : -1;
    const d = typeof x === 'string' ? x.localeCompare(String(y), 'en', { numeric: true }) : x - Number(y);
    return d === 0 ? tie(a, b) : d * sign;
  });
}
