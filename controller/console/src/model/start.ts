// SPDX-License-Identifier: Apache-2.0
// The checks while no port is there, from the collector back to the senders: what
// the controller knows of each, and how to look further.

import { count } from '../format/units';
import type { Status } from './types';

export interface Check {
  /** Null where the controller cannot know. */
  ok: boolean | null;
  name: string;
  found: string;
  /** How to look further, with commands in backquotes. */
  look: string;
}

export function checks(s: Status): Check[] {
  return [collectors(s), reports(s), switches(s), samples(s)];
}

function collectors(s: Status): Check {
  const name = 'The collector is connected';
  const away = s.collectors.filter((c) => c.connected !== true);
  const look = 'Start it with `tidemark-collector run`; the controller looks for it at `collectors` in its configuration. `tidemark-collector doctor` checks its host.';
  if (s.collectors.length === 0) return { ok: false, name, found: 'No collector is configured.', look };
  const problem = away.map((c) => `${c.address}: ${c.problem || 'not connected'}`).join('; ');
  return { ok: away.length === 0, name, found: problem || `Connected to ${s.collectors.map((c) => c.address).join(', ')}.`, look };
}

function reports(s: Status): Check {
  const n = s.reportsReceived;
  const malformed = s.malformed ?? 0;
  const found = n === null ? 'Not known without a collector.' : n > 0 ? `${count(n)} so far.` : malformed > 0 ? `None; ${count(malformed)} datagrams were no valid reports.` : 'None so far.';
  const look = 'On the host of the collector, `tcpdump -ni any -c 3 udp port 32766` shows them as they come. Packets have to leave a watched port.';
  return { ok: n === null ? null : n > 0, name: 'Reports arrive', found, look };
}

function switches(s: Status): Check {
  const name = 'The switch is configured';
  const look = 'The controller writes mirror session, destination of reports and watch entries from `switches[].provision`. `tidemark-controller doctor --config controller.toml` reads them back.';
  if (s.switches.length === 0) return { ok: null, name, found: 'None is configured here: it reports by itself, and no limit can be set.', look };
  const wrong = s.switches.filter((w) => !w.ready || w.problem !== '');
  const words = wrong.map((w) => `node ${w.node} at ${w.address}: ${w.problem || 'not ready'}`).join('; ');
  return { ok: wrong.length === 0, name, found: words || `${s.switches.length === 1 ? 'It is' : `All ${s.switches.length} are`} ready.`, look };
}

function samples(s: Status): Check {
  const n = s.probeSamples;
  const found = n === null ? 'Not known without a collector.' : n > 0 ? `${count(n)} samples so far.` : 'None so far. Estimates work without them, and are less certain.';
  const look = 'tcp_probe tells the senders’ windows. `tidemark-collector agent` on each sender needs root or CAP_PERFMON, and TCP connections that send.';
  return { ok: n === null ? null : n > 0, name: 'Senders tell their TCP state (tcp_probe)', found, look };
}
