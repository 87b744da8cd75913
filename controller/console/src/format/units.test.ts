// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { age, bitRate, bytes, count, formatSize, milliseconds, MISSING, percent, significant, sizeIn } from './units';

describe('units', () => {
  it('keeps significant digits without exponents', () => {
    expect(significant(0.0001234)).toBe('0.000123');
    expect(significant(12.345)).toBe('12.3');
    expect(significant(12345)).toBe('12345');
    expect(significant(Number.NaN)).toBe(MISSING);
  });

  it('scales bytes and rates decimally', () => {
    expect(bytes(1514)).toBe('1.51 kB');
    expect(bytes(999)).toBe('999 B');
    expect(bytes(312_500)).toBe('313 kB');
    expect(bytes(999_900)).toBe('1.00 MB');
    expect(bitRate(100e6)).toBe('100 Mb/s');
    expect(bitRate(0)).toBe('0 b/s');
    expect(bytes(null)).toBe(MISSING);
  });

  it('never rounds a share up to 100 %', () => {
    expect(percent(0.99996)).toBe('99.9 %');
    expect(percent(1)).toBe('100.0 %');
    expect(percent(0.0104)).toBe('1.04 %');
    expect(percent(0.00042)).toBe('0.042 %');
    expect(percent(0.000001)).toBe('<0.001 %');
    expect(percent(0)).toBe('0 %');
    expect(percent(undefined)).toBe(MISSING);
  });

  it('shows durations in a fitting unit', () => {
    expect(milliseconds(0.25)).toBe('250 µs');
    expect(milliseconds(19.2)).toBe('19.2 ms');
    expect(milliseconds(12_000)).toBe('12.0 s');
    expect(age(400)).toBe('0.4 s');
    expect(age(90_000)).toBe('90 s');
    expect(age(600_000)).toBe('10 min');
  });

  it('groups thousands', () => {
    expect(count(1234567)).toBe('1\u202f234\u202f567');
    expect(count(12)).toBe('12');
  });

  it('converts buffer sizes: 100 packets of 1514 B at 100 Mb/s are 12.1 ms', () => {
    const ctx = { packetBytes: 1514, capacityBps: 100e6 };
    expect(sizeIn('packets', 151_400, ctx)).toBeCloseTo(100);
    expect(sizeIn('ms', 151_400, ctx)).toBeCloseTo(12.112);
    expect(formatSize('packets', 151_400, ctx)).toBe('100 pkts');
    expect(formatSize('ms', 151_400, ctx)).toBe('12.1 ms');
    expect(formatSize('ms', 151_400, { packetBytes: 1514, capacityBps: 0 })).toBe(MISSING);
  });
});
