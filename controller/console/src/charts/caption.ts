// SPDX-License-Identifier: Apache-2.0
// Link, run and time of the data in a saved chart, for its picture and its file name.

import { bitRate } from '../format/units';
import { linkKey, linkTitle } from '../model/links';
import type { Link, Status } from '../model/types';
import { clockText, dateText, zoneText } from './clock';

export interface Caption {
  /** Name of the link, with its capacity. */
  link: string;
  /** Node and port, short enough for a file name. */
  place: string;
  /** Name of a finished run, or that the link is live. */
  run: string;
  /** Time of the newest telemetry, seconds on the charts' axis; null if there is none. */
  newest: number | null;
}

/** Returns the origin of the data, for saved charts. */
export function captionOf(l: Link | null, status: Status | null): Caption {
  const finished = status?.finished;
  // The capture of a run is a folder within it.
  const name = finished?.capture.replace(/\/+(capture\/*)?$/, '').split('/').at(-1);
  return {
    link: l ? `${linkTitle(l)}${l.capacityBps === null ? '' : `, C ${bitRate(l.capacityBps)}`}` : '',
    place: l ? linkKey(l).replaceAll(':', '-') : '',
    run: finished ? `run ${name}` : 'live',
    newest: l?.now ?? null,
  };
}

let current: Caption = { link: '', place: '', run: '', newest: null };

export function setCaption(caption: Caption): void {
  current = caption;
}

/** Formats link, run and time in one line; `span` in seconds of a chart over time. */
export function captionLine(span: readonly [number, number] | null): string {
  const { link, run, newest } = current;
  return [link, run, span ? timeOf(...span) : newest === null ? '' : timeOf(newest, newest)].filter((part) => part !== '').join(' · ');
}

function timeOf(from: number, to: number): string {
  const date = dateText(from);
  if (date === '') return 'time of day not known';
  const decimals = to > from && to - from < 10 ? 3 : 0;
  const [begin, end] = [clockText(from, decimals), clockText(to, decimals)];
  return `${date} ${begin}${begin === end ? '' : ` to ${end}`} ${zoneText(from)}`;
}

/** Returns a file name without its ending: ASCII, which every shell and archive accepts. */
export function fileStem(name: string): string {
  return ['tidemark', name, current.place].map(ascii).filter((part) => part !== '').join('-');
}

const GREEK: Record<string, string> = { α: 'alpha', β: 'beta', δ: 'delta', ρ: 'rho', σ: 'sigma', τ: 'tau', µ: 'mu', μ: 'mu' };

function ascii(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\u0020-\u007e]/g, (c) => GREEK[c] ?? c.normalize('NFKD').replace(/[^\u0020-\u007e]/g, ''))
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
}
