// SPDX-License-Identifier: Apache-2.0
import type { SizeContext } from '../format/units';
import type { Limit, Link, LinkId } from './types';

/** `node:port` of queue 0, `node:port:queue` of another, as the controller writes it. */
export function linkKey(l: LinkId): string {
  const port = `${l.node}:${portName(l)}`;
  return l.queue === 0 ? port : `${port}:${l.queue}`;
}

export function sameLink(a: LinkId | null | undefined, b: LinkId | null | undefined): boolean {
  return a?.node === b?.node && a?.port === b?.port && a?.queue === b?.queue;
}

/** A port as requests and people name it. */
function portName(l: LinkId): number | 'unknown' {
  return l.port ?? 'unknown';
}

/** Which link it is, as requests name it. */
export function place(l: LinkId): { node: number; port: number | 'unknown'; queue: number } {
  return { node: l.node, port: portName(l), queue: l.queue };
}

export function linkTitle(l: LinkId & { name: string }): string {
  const queue = l.queue === 0 ? '' : `, queue ${l.queue}`;
  const place = `node ${l.node}, port ${portName(l)}${queue}`;
  return l.name ? `${l.name} (${place})` : place;
}

/** A full Ethernet frame without FCS, until a segment was measured. */
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

/** Both values where the port marks. */
export function limitText(l: Limit, size: (bytes: number) => string): string {
  if (l.bytes === null) return l.action === 'unlimited' ? 'unlimited' : '?';
  if (!marks(l)) return size(l.bytes);
  const limit = l.refusesAtBytes === null ? 'no limit' : `limit ${size(l.refusesAtBytes)}`;
  return `CE marks from ${size(l.bytes)} on, ${limit}`;
}

/** The limit in force (of a port that marks, the threshold): what the switch holds,
 * else what its reports say. */
export function limitBytes(l: Pick<Link, 'limit' | 'reportedLimitBytes'>): number | null {
  if (l.limit) return l.limit.bytes;
  return l.reportedLimitBytes;
}
