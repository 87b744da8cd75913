// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { packetsAt } from '../../test/packets';
import { type Kept, keep, keptWords, type Read, SLICE, type Span } from './keeping';
import { PacketShelf } from './packet-shelf';
import { within } from './packets';
import type { Packets } from './types';

/** Packets per second of a bottleneck of 100 Mb/s. */
const RATE = 8127;

/** A collector with packets from `since` on, which forgets packets older than `oldest()`. */
function collector(to: number, oldest: () => number = () => 0, rate = RATE): { read: Read; asked: Span[]; all: Packets } {
  // Filled in place, because there are hundreds of thousands.
  const n = Math.floor(to * rate);
  const time = new Float64Array(n);
  for (let i = 0; i < n; i += 1) time[i] = (i + 0.5) / rate;
  const zeros = { left: new Float64Array(n), occupancy: new Float64Array(n), dropped: new Uint8Array(n), ce: new Uint8Array(n), flow: new Float64Array(n), cwnd: new Uint32Array(n), seq: new Uint32Array(n), ipBytes: new Uint16Array(n) };
  const all = packetsAt([], [], { time, ...zeros });
  const asked: Span[] = [];
  const read = async (span: Span): Promise<Packets> => {
    asked.push(span);
    const found = within(all, Math.max(span.from, oldest()), span.to);
    const cut = found.time[SLICE];
    return { ...(cut === undefined ? found : within(found, 0, cut)), truncated: cut !== undefined, oldest: oldest() };
  };
  return { read, asked, all };
}

/** Compares the bytes of a column: comparing packets one by one takes seconds. */
const same = (a: Packets | null, b: Packets): boolean => a !== null && Buffer.from(a.time.slice().buffer).equals(Buffer.from(b.time.slice().buffer));

async function kept(shelf: PacketShelf, span: Span, rate: number, read: Read): Promise<Kept[]> {
  const seen: Kept[] = [];
  for await (const k of keep(shelf, span, rate, read)) seen.push(k);
  return seen;
}

describe('a long span', () => {
  const span = { from: 2, to: 32 };

  it('is kept whole at the rate of the demo, in pieces that are answered whole', async () => {
    const shelf = new PacketShelf(2_000_000);
    const { read, asked, all } = collector(40);
    const seen = await kept(shelf, span, RATE, read);
    expect(seen.at(-1)).toEqual({ ...span, packets: 30 * RATE, state: 'whole', problem: '' });
    expect(same(shelf.find(2, 32), within(all, 2, 32))).toBe(true);
    // A few pieces, and not one too many.
    expect(asked.length).toBe(Math.ceil((30 * RATE) / (0.8 * SLICE)));
    expect(keptWords(seen[0] as Kept, span)).toMatch(/^Reading its packets, to keep them: 40.000 so far, up to 6\.9 s\.$/);
    expect(keptWords(seen.at(-1) as Kept, span)).toMatch(/^All of its packets are kept \(243.810\)\.$/);
  });

  it('is kept whole too where more come than in the last second', async () => {
    const shelf = new PacketShelf(2_000_000);
    const { read, all } = collector(40);
    const seen = await kept(shelf, span, RATE / 4, read);
    expect(seen.at(-1)?.state).toBe('whole');
    expect(same(shelf.find(2, 32), within(all, 2, 32))).toBe(true);
  });

  it('is read on from what is there', async () => {
    const shelf = new PacketShelf(2_000_000);
    const { read, asked } = collector(60);
    await kept(shelf, span, RATE, read);
    asked.length = 0;
    expect((await kept(shelf, { from: 17, to: 47 }, RATE, read)).at(-1)?.packets).toBe(30 * RATE);
    expect(asked[0]?.from).toBe(32);
  });

  it('says from where on the collector remembered it', async () => {
    const shelf = new PacketShelf(2_000_000);
    const seen = await kept(shelf, span, RATE, collector(40, () => 20).read);
    expect(keptWords(seen.at(-1) as Kept, span)).toMatch(/^Its packets are kept from 20\.0 s on, .* \(97.524\)\.$/);
    const none = await kept(new PacketShelf(2_000_000), span, RATE, async () => packetsAt([]));
    expect(keptWords(none.at(-1) as Kept, span)).toBe('The collector remembers no packets of it.');
  });

  it('says where no more fit, and keeps what was read', async () => {
    const shelf = new PacketShelf(120_000);
    const seen = await kept(shelf, span, RATE, collector(40).read);
    expect(seen.at(-1)?.state).toBe('full');
    expect(shelf.packets).toBeLessThanOrEqual(120_000);
    expect(shelf.find(2, seen.at(-1)?.to ?? 99)?.time.length).toBe(seen.at(-1)?.packets);
    expect(keptWords(seen.at(-1) as Kept, span)).toMatch(/^Its packets are kept up to 11\.8 s \(80.000\): no more fit\.$/);
  });

  it('says where reading failed', async () => {
    const { read, asked } = collector(40);
    const seen = await kept(new PacketShelf(2_000_000), span, RATE, (s) => (asked.length < 2 ? read(s) : Promise.reject(new Error('The controller is not reachable.'))));
    expect(keptWords(seen.at(-1) as Kept, span)).toMatch(/^Its packets are kept up to 11\.8 s \(80.000\)\. The others could not be read: The controller is not reachable\.$/);
  });
});
