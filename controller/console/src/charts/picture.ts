// SPDX-License-Identifier: Apache-2.0
// Saves a chart as files: its picture and its numbers.

/** A chart's picture and numbers. */
export interface Picture {
  readonly name: string;
  /** Whether nothing was measured, or nothing is loaded yet. */
  empty(): boolean;
  csv(): string;
  svg(): string | Promise<string>;
}

/** Formats the rows within a range of the first column, with Unix time if it is known. */
export function csvOf(
  names: readonly string[],
  columns: readonly (readonly (number | null)[])[],
  range: readonly [number, number],
  unixMs: ((x: number) => number | null) | null,
): string {
  const x = columns[0] ?? [];
  const timed = unixMs !== null && unixMs(0) !== null;
  const lines = [[names[0] ?? 'x', ...(timed ? ['unix_ms'] : []), ...names.slice(1)].join(',')];
  for (let i = 0; i < x.length; i += 1) {
    const at = x[i] ?? 0;
    if (at < range[0] || at > range[1]) continue;
    const cells = names.slice(1).map((_, k) => columns[k + 1]?.[i] ?? '');
    lines.push([Number(at.toFixed(9)), ...(timed ? [(unixMs(at) ?? 0).toFixed(3)] : []), ...cells].join(','));
  }
  return `${lines.join('\n')}\n`;
}
