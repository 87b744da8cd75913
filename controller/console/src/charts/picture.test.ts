// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { csvOf } from './picture';

describe('csvOf', () => {
  const columns = [
    [1, 2, 3],
    [10, null, 30],
  ];

  it('has the rows of the span with empty cells where nothing was measured', () => {
    expect(csvOf(['time_s', 'p50_bytes'], columns, [1.5, 3], null)).toBe('time_s,p50_bytes\n2,\n3,30\n');
  });

  it('has Unix time where it is known', () => {
    expect(csvOf(['time_s', 'p50_bytes'], columns, [0, 1], (x) => 1000 + x * 1000)).toBe('time_s,unix_ms,p50_bytes\n1,2000.000,10\n');
    expect(csvOf(['time_s', 'p50_bytes'], columns, [0, 1], () => null)).toBe('time_s,p50_bytes\n1,10\n');
  });
});
