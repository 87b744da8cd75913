// SPDX-License-Identifier: Apache-2.0
// Whether what the page shows is still true.

import type { Connection } from '../api/events';
import { age } from '../format/units';

export type Level = 'live' | 'waiting' | 'stale' | 'lost';

export interface Freshness {
  level: Level;
  headline: string;
  detail: string;
}

export interface FreshnessInput {
  connection: Connection;
  /** Since the last word of the controller, ms; null before the first. */
  silenceMs: number | null;
  haveLink: boolean;
  /** Age of the newest telemetry when the controller last spoke, ms. */
  telemetryAgeMs: number | null;
  stale: boolean;
  /** Address and problem of a collector that is not connected. */
  collectorProblem: string;
}

export function freshness(i: FreshnessInput): Freshness {
  if (i.connection === 'lost') {
    const since = i.silenceMs === null ? '' : ` for ${age(i.silenceMs)}`;
    return {
      level: 'lost',
      headline: 'Disconnected',
      detail:
        i.silenceMs === null
          ? 'The controller does not answer. Trying again.'
          : `No word from the controller${since}. What you see is the last it said. Trying again.`,
    };
  }
  if (i.connection === 'connecting') return { level: 'waiting', headline: 'Connecting', detail: 'Waiting for the controller.' };
  if (i.collectorProblem) return { level: 'stale', headline: 'Collector away', detail: i.collectorProblem };
  if (!i.haveLink) return { level: 'waiting', headline: 'No reports yet', detail: 'The controller runs, but no switch has reported a packet.' };
  const total = i.telemetryAgeMs === null ? null : i.telemetryAgeMs + (i.silenceMs ?? 0);
  if (i.stale) {
    return {
      level: 'stale',
      headline: 'Stale',
      detail: `The newest report is ${age(total)} old. Is traffic watched, and is the collector receiving?`,
    };
  }
  return { level: 'live', headline: 'Live', detail: total === null ? '' : `telemetry ${age(total)} old` };
}
