// SPDX-License-Identifier: Apache-2.0
import { beforeEach, describe, expect, it } from 'vitest';
import { type Connection, Events, type Source } from './events';

class Fake implements Source {
  closed = false;
  private readonly listeners = new Map<string, (e: { data?: string }) => void>();
  addEventListener(name: string, f: (e: { data?: string }) => void): void {
    this.listeners.set(name, f);
  }
  close(): void {
    this.closed = true;
  }
  emit(name: string, data?: string): void {
    this.listeners.get(name)?.(data === undefined ? {} : { data });
  }
}

let now = 1000;
let sources: Fake[] = [];
let states: Connection[] = [];
let events: [string, unknown][] = [];

function make(): Events {
  return new Events({
    open: () => {
      const f = new Fake();
      sources.push(f);
      return f;
    },
    onEvent: (name, data) => events.push([name, data]),
    onConnection: (s) => states.push(s),
    now: () => now,
  });
}

beforeEach(() => {
  now = 1000;
  sources = [];
  states = [];
  events = [];
});

describe('Events', () => {
  it('is live from the first word on and passes it', () => {
    const e = make();
    e.start();
    expect(e.connection).toBe('connecting');
    sources[0]?.emit('update', '{"a":1}');
    expect(states).toEqual(['live']);
    expect(events).toEqual([['update', { a: 1 }]]);
  });

  it('ignores a message that is not JSON', () => {
    const e = make();
    e.start();
    sources[0]?.emit('update', '{"a":');
    expect(events).toEqual([]);
    expect(e.connection).toBe('live');
  });

  it('reports silence as a loss and connects again', () => {
    const e = make();
    e.start();
    sources[0]?.emit('update', '{}');
    now += 4001;
    e.tick();
    expect(states).toEqual(['live', 'lost']);
    expect(sources[0]?.closed).toBe(true);
    now += 499;
    e.tick();
    expect(sources.length).toBe(1);
    now += 1;
    e.tick();
    expect(sources.length).toBe(2);
    sources[1]?.emit('update', '{}');
    expect(e.connection).toBe('live');
  });

  it('waits longer after every failure and forgets that after a success', () => {
    const e = make();
    e.start();
    const waits: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      sources.at(-1)?.emit('error');
      const lostAt = now;
      const before = sources.length;
      while (sources.length === before) {
        now += 100;
        e.tick();
      }
      waits.push(now - lostAt);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    sources.at(-1)?.emit('update', '{}');
    sources.at(-1)?.emit('error');
    now += 500;
    e.tick();
    expect(e.connection).toBe('lost');
    expect(sources.length).toBe(8);
  });

  it('hears nothing from a stream that was given up', () => {
    const e = make();
    e.start();
    sources[0]?.emit('error');
    sources[0]?.emit('update', '{"late":1}');
    expect(events).toEqual([]);
    expect(e.connection).toBe('lost');
  });
});
