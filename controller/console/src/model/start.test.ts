// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { status } from '../api/status';
import { checks } from './start';

const collector = (counters: object | null, connected = true) => ({ address: '127.0.0.1:9560', connected, problem: connected ? null : 'connection refused', status: counters });
const device = (more: object) => ({ node: 10, address: 'http://127.0.0.1:9559', ready: true, health: { problem: null }, provision_problem: null, ...more });
const say = (answer: object) => checks(status(answer)).map((c) => [c.ok, c.found]);

describe('what to check while no port is there', () => {
  it('says what is known of each step', () => {
    expect(say({ collectors: [collector({ reports_received: 0, datagrams_malformed: 0, probe_samples: 1500 })], switches: [device({})] })).toEqual([
      [true, 'Connected to 127.0.0.1:9560.'],
      [false, 'None so far.'],
      [true, 'It is ready.'],
      [true, '1\u202f500 samples so far.'],
    ]);
  });

  it('knows nothing of what only a collector counts while it is away', () => {
    expect(say({ collectors: [collector(null, false)], switches: [] })).toEqual([
      [false, '127.0.0.1:9560: connection refused'],
      [null, 'Not known without a collector.'],
      [null, 'None is configured here: it reports by itself, and no limit can be set.'],
      [null, 'Not known without a collector.'],
    ]);
  });

  it('says why a switch is not ready, and that datagrams are no reports', () => {
    const found = say({
      collectors: [collector({ reports_received: 0, datagrams_malformed: 7 })],
      switches: [device({ ready: false, health: { problem: 'no program' } }), device({ node: 11, provision_problem: 'table watch is full' })],
    });
    expect(found[1]).toEqual([false, 'None; 7 datagrams were no valid reports.']);
    expect(found[2]).toEqual([false, 'node 10 at http://127.0.0.1:9559: no program; node 11 at http://127.0.0.1:9559: table watch is full']);
    expect(say({ collectors: [], switches: [] })[0]).toEqual([false, 'No collector is configured.']);
  });
});
