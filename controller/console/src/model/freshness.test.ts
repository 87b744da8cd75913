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
  finished: null,
};

describe('freshness', () => {
  it('is live with the age of the telemetry, including the silence since', () => {
    const f = freshness(good);
    expect(f.level).toBe('live');
    expect(f.detail).toBe('newest report 0.5 s old');
  });

  it('is never live where a finished run is shown, nor before that is known', () => {
    const run = { capture: '/runs/a/capture', startedUnixMs: 0, seconds: 42.5, read: 0.5, notes: [], problem: '' };
    expect(freshness({ ...good, finished: undefined }).level).toBe('waiting');
    expect(freshness({ ...good, finished: run })).toEqual({ level: 'waiting', headline: 'Reading', detail: '50 % of a finished run, 42.5 s so far.' });
    const whole = freshness({ ...good, stale: true, finished: { ...run, read: 1, notes: ['3 rows are missing'] } });
    expect(whole.level).toBe('recorded');
    expect(whole.detail).toBe('A finished run of 42.5 s, read from /runs/a/capture. Nothing can be set. Note: 3 rows are missing.');
    expect(freshness({ ...good, finished: { ...run, problem: 'no such file' } }).headline).toBe('Not read');
    expect(freshness({ ...good, connection: 'lost', finished: run }).level).toBe('lost');
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
