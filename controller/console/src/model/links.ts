// SPDX-License-Identifier: Apache-2.0
import type { SizeContext } from '../format/units';
import type { Link, LinkId } from './types';

export function linkKey(l: LinkId): string {
  return `${l.node}:${l.port}`;
}

export function linkTitle(l: Link): string {
  const place = `node ${l.node}, port ${l.port}`;
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

/** The limit in force: what the switch holds, else what its reports say. */
export function limitBytes(l: Link): number | null {
  if (l.limit) return l.limit.action === 'unlimited' ? null : l.limit.bytes;
  return l.reportedLimitBytes;
}
