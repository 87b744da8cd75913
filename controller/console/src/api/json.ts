// SPDX-License-Identifier: Apache-2.0
// Reads JSON from outside: a missing or wrong field becomes null or an empty value, never an
// exception in the middle of an update.

export type Json = Record<string, unknown>;

export function object(v: unknown): Json {
  return typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Json) : {};
}

/** Returns the fields of an answer under the names of its type; the values are not trusted. */
export function fields<T>(v: unknown): { readonly [K in keyof T]?: unknown } {
  return object(v) as { readonly [K in keyof T]?: unknown };
}

export function list(v: unknown): unknown[] {
  return Array.isArray(v) ? v : [];
}

export function number(v: unknown): number | null {
  return typeof v === 'number' && Number.isFinite(v) ? v : null;
}

export function string(v: unknown, otherwise = ''): string {
  return typeof v === 'string' ? v : otherwise;
}

export function boolean(v: unknown): boolean | null {
  return typeof v === 'boolean' ? v : null;
}

export function numbers(v: unknown): (number | null)[] {
  return list(v).map(number);
}

export function strings(v: unknown): string[] {
  return list(v).filter((s): s is string => typeof s === 'string');
}
