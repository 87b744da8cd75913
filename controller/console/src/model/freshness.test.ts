// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { freshness, type FreshnessInput } from './freshness';

const good: FreshnessInput = {
  connection: 'live',
  silenceMs: 200,
  haveLink: true,
  telemetryAgeMs: 300,
  nodeAgeMs: 300,
  lagMs: 20,
  stale: false,
  collectorProblem: '',
  doubt: null,
};

describe('freshness', () => {
  it('is live with the age of the telemetry, including the silence since', () => {
    const f = freshness(good);
    expect(f.level).toBe('live');
    expect(f.detail).toBe('newest report 0.5 s old');
  });

  it('turns where something speaks against the numbers, unless they are old', () => {
    const doubt = { headline: 'Losing reports', detail: '3 reports were lost.' };
    expect(freshness({ ...good, doubt })).toEqual({ level: 'doubt', ...doubt });
    expect(freshness({ ...good, doubt, stale: true, telemetryAgeMs: 30_000 }).level).toBe('stale');
  });

  it('says so when the telemetry is old', () => {
    const f = freshness({ ...good, stale: true, telemetryAgeMs: 30_000, nodeAgeMs: 30_000 });
    expect(f.level).toBe('stale');
    expect(f.detail).toContain('30 s old');
  });

  it('tells an idle port, a silent switch and a backlog apart', () => {
    const old = { ...good, stale: true, telemetryAgeMs: 30_000 };
    expect(freshness(old).headline).toBe('Idle');
    expect(freshness({ ...old, nodeAgeMs: 30_000 }).headline).toBe('Stale');
    expect(freshness({ ...old, nodeAgeMs: 30_000, lagMs: 29_900 }).headline).toBe('Behind');
    expect(freshness({ ...old, telemetryAgeMs: null, nodeAgeMs: null, lagMs: null }).headline).toBe('Stale');
  });

  it('puts the lost controller before everything else', () => {
    const f = freshness({ ...good, connection: 'lost', stale: true, silenceMs: 12_000 });
    expect(f.level).toBe('lost');
    expect(f.detail).toContain('12 s');
    expect(freshness({ ...good, connection: 'lost', silenceMs: null }).level).toBe('lost');
  });

  it('names a collector that is away', () => {
    const f = freshness({ ...good, collectorProblem: 'collector 127.0.0.1:9560: connection refused' });
    expect(f.level).toBe('stale');
    expect(f.detail).toContain('127.0.0.1:9560');
  });

  it('waits for the first link', () => {
    expect(freshness({ ...good, haveLink: false }).level).toBe('waiting');
    expect(freshness({ ...good, connection: 'connecting', silenceMs: null }).level).toBe('waiting');
  });
});
