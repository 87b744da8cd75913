// SPDX-License-Identifier: Apache-2.0
// Decides whether the page still shows the truth.

import type { Connection } from '../api/events';
import { age } from '../format/units';
import type { Doubt } from './trust';
import type { FinishedRun } from './types';

export type Level = 'live' | 'recorded' | 'doubt' | 'waiting' | 'stale' | 'lost';

export interface Freshness {
  level: Level;
  headline: string;
  detail: string;
}

export interface FreshnessInput {
  connection: Connection;
  /** Time since the last word of the controller, ms; null before the first. */
  silenceMs: number | null;
  haveLink: boolean;
  /** Age of the newest report of the link when the controller last spoke, ms. */
  telemetryAgeMs: number | null;
  /** Age of the newest report of any link of its node, ms. */
  nodeAgeMs: number | null;
  /** How late the node's telemetry arrives, ms. */
  lagMs: number | null;
  stale: boolean;
  /** Address and problem of a collector that is not connected. */
  collectorProblem: string;
  /** The finished run that is shown instead of a live one; undefined while that is unknown. */
  finished?: FinishedRun | null;
  /** Reason to doubt the numbers although reports arrive. */
  doubt: Doubt | null;
}

/** Explains why the newest report of the link is old. */
function oldBecause(i: FreshnessInput, total: number | null): { headline: string; detail: string } {
  const most = (i.telemetryAgeMs ?? Infinity) / 2;
  if (i.lagMs !== null && i.lagMs > most) {
    return {
      headline: 'Behind',
      detail: `What arrives is ${age(i.lagMs)} old: the collector or the way from it does not keep up.`,
    };
  }
  if (i.telemetryAgeMs !== null && i.nodeAgeMs !== null && i.nodeAgeMs < most) {
    return {
      headline: 'Idle',
      detail: `No packet of this port was reported for ${age(total)}; other ports of the switch report.`,
    };
  }
  return {
    headline: 'Stale',
    detail: `The newest report is ${age(total)} old. Does traffic pass, is it watched, and is the collector receiving?`,
  };
}

function recorded(run: FinishedRun): Freshness {
  if (run.problem) return { level: 'stale', headline: 'Not read', detail: `${run.capture}: ${run.problem}` };
  const length = `${run.seconds.toFixed(1)} s`;
  if (run.read < 1) return { level: 'waiting', headline: 'Reading', detail: `${Math.floor(100 * run.read)} % of a finished run, ${length} so far.` };
  const notes = run.notes.map((n) => ` Note: ${n}.`).join('');
  return { level: 'recorded', headline: 'Recorded', detail: `A finished run of ${length}, read from ${run.capture}. Nothing can be set.${notes}` };
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
  if (i.finished === undefined) return { level: 'waiting', headline: 'Connecting', detail: 'Asking the controller what it shows.' };
  if (i.finished) return recorded(i.finished);
  if (i.collectorProblem) return { level: 'stale', headline: 'Collector away', detail: i.collectorProblem };
  if (!i.haveLink) return { level: 'waiting', headline: 'No reports yet', detail: 'The controller runs, but no switch has reported a packet.' };
  const total = i.telemetryAgeMs === null ? null : i.telemetryAgeMs + (i.silenceMs ?? 0);
  if (i.stale) {
    return { level: 'stale', ...oldBecause(i, total) };
  }
  if (i.doubt) return { level: 'doubt', ...i.doubt };
  return { level: 'live', headline: 'Live', detail: total === null ? '' : `newest report ${age(total)} old` };
}
