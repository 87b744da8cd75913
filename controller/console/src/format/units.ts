// SPDX-License-Identifier: Apache-2.0
// Numbers with their units, as the field writes them. Sizes of buffers are in
// decimal kB/MB (like capacities), never KiB.

export const MISSING = '–';

/** `value` with `digits` significant digits, no exponent, no trailing noise. */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return MISSING;
  if (value === 0) return '0';
  // Rounded first: 0.9996 has the magnitude of 1.00.
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  const decimals = Math.max(0, Math.min(9, digits - 1 - magnitude));
  return value.toFixed(decimals);
}

interface Scaled {
  value: string;
  unit: string;
}

function scaled(value: number, base: string, prefixes: readonly string[], digits: number): Scaled {
  let v = value;
  let i = 0;
  while (Math.abs(v) >= 999.5 && i < prefixes.length - 1) {
    v /= 1000;
    i += 1;
  }
  return { value: significant(v, digits), unit: `${prefixes[i] ?? ''}${base}` };
}

const SI = ['', 'k', 'M', 'G', 'T'] as const;

function joined(s: Scaled): string {
  return `${s.value} ${s.unit}`;
}

export function bytes(value: number | null | undefined, digits = 3): string {
  if (value == null || !Number.isFinite(value)) return MISSING;
  if (Math.abs(value) < 999.5) return `${Math.round(value)} B`;
  return joined(scaled(value, 'B', SI, digits));
}

export function bitRate(bps: number | null | undefined, digits = 3): string {
  if (bps == null || !Number.isFinite(bps)) return MISSING;
  return joined(scaled(bps, 'b/s', SI, digits));
}

/** A share as per cent; small shares keep two significant digits. */
export function percent(fraction: number | null | undefined): string {
  if (fraction == null || !Number.isFinite(fraction)) return MISSING;
  const p = fraction * 100;
  if (p === 0) return '0 %';
  if (Math.abs(p) < 0.001) return '<0.001 %';
  if (Math.abs(p) < 1) return `${significant(p, 2)} %`;
  // 99.96 % must not be shown as 100.0 %.
  const decimals = Math.abs(p) < 10 ? 2 : 1;
  const text = p < 100 ? (Math.floor(p * 10 ** decimals) / 10 ** decimals).toFixed(decimals) : p.toFixed(decimals);
  return `${text} %`;
}

/** A duration given in milliseconds. */
export function milliseconds(ms: number | null | undefined, digits = 3): string {
  if (ms == null || !Number.isFinite(ms)) return MISSING;
  const a = Math.abs(ms);
  if (a !== 0 && a < 1) return `${significant(ms * 1000, digits)} µs`;
  if (a >= 10_000) return `${significant(ms / 1000, digits)} s`;
  return `${significant(ms, digits)} ms`;
}

/** Whole counts with thin spaces between thousands: 1 234 567. */
export function count(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return MISSING;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** Age of something in words short enough for a status line. */
export function age(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return MISSING;
  const s = Math.max(0, ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return `${Math.round(s / 3600)} h`;
}

/** Units a buffer size can be shown in. */
export type SizeUnit = 'bytes' | 'packets' | 'ms';

export interface SizeContext {
  /** Bytes per packet used for conversion. */
  packetBytes: number;
  capacityBps: number;
}

/** A buffer size in `unit`; null when the context cannot convert. */
export function sizeIn(unit: SizeUnit, sizeBytes: number, ctx: SizeContext): number | null {
  switch (unit) {
    case 'bytes':
      return sizeBytes;
    case 'packets':
      return ctx.packetBytes > 0 ? sizeBytes / ctx.packetBytes : null;
    case 'ms':
      return ctx.capacityBps > 0 ? (sizeBytes * 8000) / ctx.capacityBps : null;
  }
}

export function formatSize(unit: SizeUnit, sizeBytes: number | null | undefined, ctx: SizeContext): string {
  if (sizeBytes == null || !Number.isFinite(sizeBytes)) return MISSING;
  const v = sizeIn(unit, sizeBytes, ctx);
  if (v == null) return MISSING;
  switch (unit) {
    case 'bytes':
      return bytes(v);
    case 'packets':
      return `${significant(v, v < 10 ? 2 : 3)} pkts`;
    case 'ms':
      return milliseconds(v);
  }
}

/** Label of an axis of buffer sizes. */
export function sizeAxisLabel(unit: SizeUnit): string {
  switch (unit) {
    case 'bytes':
      return 'bytes';
    case 'packets':
      return 'packets';
    case 'ms':
      return 'ms at capacity';
  }
}
