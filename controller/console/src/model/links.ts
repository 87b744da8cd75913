// SPDX-License-Identifier: Apache-2.0
import type { SizeContext } from '../format/units';
import type { Limit, Link, LinkId } from './types';

/** Returns `node:port` for queue 0, else `node:port:queue`, as the controller writes it. */
export function linkKey(l: LinkId): string {
  const port = `${l.node}:${portName(l)}`;
  return l.queue === 0 ? port : `${port}:${l.queue}`;
}

export function sameLink(a: LinkId | null | undefined, b: LinkId | null | undefined): boolean {
  return a?.node === b?.node && a?.port === b?.port && a?.queue === b?.queue;
}

/** Returns the name of a port in requests and texts. */
function portName(l: LinkId): number | 'unknown' {
  return l.port ?? 'unknown';
}

/** Returns the node, port and queue of a link, as requests name them. */
export function place(l: LinkId): { node: number; port: number | 'unknown'; queue: number } {
  return { node: l.node, port: portName(l), queue: l.queue };
}

export function linkTitle(l: LinkId & { name: string }): string {
  const queue = l.queue === 0 ? '' : `, queue ${l.queue}`;
  const place = `node ${l.node}, port ${portName(l)}${queue}`;
  return l.name ? `${l.name} (${place})` : place;
}

/** A full Ethernet frame without FCS, used until a segment has been measured. */
const FULL_FRAME_BYTES = 1514;

export function sizeContext(l: Link | null): SizeContext {
  return {
    packetBytes: l?.estimate?.segmentBytes ?? FULL_FRAME_BYTES,
    capacityBps: l?.capacityBps ?? 0,
  };
}

export function marks(l: Limit | null): boolean {
  return l?.action === 'mark_ce';
}

/** Formats a limit; both values if the port marks. */
export function limitText(l: Limit, size: (bytes: number) => string): string {
  if (l.bytes === null) return l.action === 'unlimited' ? 'unlimited' : '?';
  if (!marks(l)) return size(l.bytes);
  const limit = l.refusesAtBytes === null ? 'no limit' : `limit ${size(l.refusesAtBytes)}`;
  return `CE marks from ${size(l.bytes)} on, ${limit}`;
}

/** Returns the limit in force, or a marking port's threshold: as read, or else as reported. */
export function limitBytes(l: Pick<Link, 'limit' | 'reportedLimitBytes'>): number | null {
  if (l.limit) return l.limit.bytes;
  return l.reportedLimitBytes;
}
