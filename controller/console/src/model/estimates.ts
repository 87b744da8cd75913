// SPDX-License-Identifier: Apache-2.0
// The five estimates of a link and their columns over time.

export const ESTIMATES = ['nB', 'alpha', 'delta', 'tE', 'cE'] as const;
export type EstimateName = (typeof ESTIMATES)[number];
export type EstimateColumn = EstimateName | `${EstimateName}Low` | `${EstimateName}High`;

export type EstimateValues = Partial<Record<EstimateColumn, number | null>>;

/** Returns one row of all estimates with their ranges. */
export function estimateRow(of: (name: EstimateName) => { value: number | null; low: number | null; high: number | null } | null): EstimateValues {
  const row: EstimateValues = {};
  for (const n of ESTIMATES) {
    const e = of(n);
    row[n] = e?.value ?? null;
    row[`${n}Low`] = e?.low ?? null;
    row[`${n}High`] = e?.high ?? null;
  }
  return row;
}

export function estimateColumns(): EstimateColumn[] {
  return ESTIMATES.flatMap((n): EstimateColumn[] => [n, `${n}Low`, `${n}High`]);
}
