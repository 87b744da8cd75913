// SPDX-License-Identifier: Apache-2.0
// Formats numbers with their units, as the field writes them. Sizes of buffers are in decimal kB/MB
// (like capacities), never KiB.

export const MISSING = '–';

/** Formats `value` with `digits` significant digits, no exponent, no trailing noise. */
export function significant(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return MISSING;
  if (value === 0) return '0';
  // Rounded first: 0.9996 has the magnitude of 1.00.
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  const decimals = Math.max(0, Math.min(9, digits - 1 - magnitude));
  return value.toFixed(decimals);
}

/** Formats a value with the prefix that keeps it below 1000. */
function scaled(value: number, base: string): string {
  let v = value;
  const prefixes = ['', 'k', 'M', 'G', 'T'];
  let i = 0;
  while (Math.abs(v) >= 999.5 && i < prefixes.length - 1) {
    v /= 1000;
    i += 1;
  }
  return `${significant(v)} ${prefixes[i]}${base}`;
}

export function bytes(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return MISSING;
  return Math.abs(value) < 999.5 ? `${Math.round(value)} B` : scaled(value, 'B');
}

export function bitRate(bps: number | null | undefined): string {
  return bps == null || !Number.isFinite(bps) ? MISSING : scaled(bps, 'b/s');
}

/** Formats a share in per cent; small shares keep two significant digits. */
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

/** Formats a duration given in milliseconds. */
export function milliseconds(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return MISSING;
  const a = Math.abs(ms);
  if (a !== 0 && a < 1) return `${significant(ms * 1000)} µs`;
  if (a >= 10_000) return `${significant(ms / 1000)} s`;
  return `${significant(ms)} ms`;
}

/** Formats whole counts with thin spaces between thousands: 1 234 567. */
export function count(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return MISSING;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/** Formats an age, short enough for a status line. */
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

/** Converts a buffer size to `unit`; null if the context does not allow it. */
export function sizeIn(unit: SizeUnit, sizeBytes: number, ctx: SizeContext): number | null {
  if (unit === 'bytes') return sizeBytes;
  if (unit === 'packets') return ctx.packetBytes > 0 ? sizeBytes / ctx.packetBytes : null;
  return ctx.capacityBps > 0 ? (sizeBytes * 8000) / ctx.capacityBps : null;
}

export function formatSize(unit: SizeUnit, sizeBytes: number | null | undefined, ctx: SizeContext): string {
  if (sizeBytes == null || !Number.isFinite(sizeBytes)) return MISSING;
  const v = sizeIn(unit, sizeBytes, ctx);
  if (v === null) return MISSING;
  if (unit === 'packets') return `${significant(v, v < 10 ? 2 : 3)} pkts`;
  return unit === 'bytes' ? bytes(v) : milliseconds(v);
}

/** Returns the unit of an axis of buffer sizes. */
export function axisUnit(unit: SizeUnit): string {
  return { bytes: 'kB', packets: 'packets', ms: 'ms at capacity' }[unit];
}

/** Returns the value on an axis of buffer sizes per byte. */
export function axisFactor(unit: SizeUnit, ctx: SizeContext): number {
  return unit === 'bytes' ? 1e-3 : (sizeIn(unit, 1, ctx) ?? 1e-3);
}
