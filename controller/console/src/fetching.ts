// SPDX-License-Identifier: Apache-2.0
// Fetches everything that the event stream does not carry: series, distribution, advice, counters.

import { adviceState } from './api/advice';
import { get } from './api/client';
import { distribution, estimateHistory, series, spanOf, windows } from './api/over-time';
import { changes, phases, status } from './api/status';
import { verdictState } from './api/verdict';
import { linkKey, place } from './model/links';
import { sortOverview } from './model/overview';
import { Recording } from './model/recording';
import { KEPT, SPAN_S } from './model/trail';
import { counterSample } from './model/trust';
import { WindowRecord } from './model/windows';
import type { State } from './state';

/** How far back the distribution next to the live chart reaches, seconds. */
const DISTRIBUTION_S = 60;

export class Fetching {
  private loadingSeries = false;
  private loadingWindows = false;
  private loadingTrails = false;
  private polling = false;
  private pollAgain = false;

  constructor(
    private readonly state: State,
    private readonly draw: () => void,
    private readonly isLive: () => boolean,
  ) {}

  /** Fetches new data of the chosen port, at the resolution of the window. */
  async series(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link || this.loadingSeries || s.held) return;
    this.loadingSeries = true;
    const recording = s.recording;
    const target = recording.matches(s.window) ? recording : new Recording(s.window);
    const key = s.selected;
    try {
      const query = target.query(link.startNs, link.now);
      if (!query) return;
      target.add(series(await get('/links/{node}/{port}/series', place(link), { ...query }), link.startNs));
      // Shown only when it has arrived: no blank chart while it loads.
      if (recording === s.recording && key === s.selected) {
        s.recording = target;
        this.draw();
      }
    } catch {
      // The state of the connection is shown by the event stream.
    } finally {
      this.loadingSeries = false;
    }
    if (!s.recording.matches(s.window) && key === s.selected && this.isLive()) void this.series();
  }

  /** Fetches the last minutes of the queues in the table of ports, one port after another. */
  async trails(): Promise<void> {
    const { trails, overview } = this.state;
    if (this.loadingTrails) return;
    this.loadingTrails = true;
    try {
      for (const port of sortOverview(overview)) {
        if (!trails.asks(linkKey(port))) continue;
        const answer = await get('/links/{node}/{port}/series', place(port), { last_s: SPAN_S, max_points: KEPT });
        trails.recall(linkKey(port), series(answer, 0));
      }
    } catch {
      // The remaining ports are asked for again later.
    } finally {
      this.loadingTrails = false;
    }
  }

  /** Fetches windows of the chosen flows: new steps, or all if other flows were chosen. */
  async windows(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link || this.loadingWindows || s.held) return;
    const flows = s.chosen;
    const same = flows.length === s.windows.flows.length && flows.every((f, i) => s.windows.flows[i] === f);
    const record = same ? s.windows : new WindowRecord(flows);
    const key = s.selected;
    const since = record.lastTime ?? link.now - 1.2 * Math.max(s.window, 30);
    this.loadingWindows = true;
    try {
      const from = Math.max(0, since - (record.columns.stepSeconds || 0) / 2);
      const span = spanOf(link, { from, to: link.now });
      record.add(windows(await get('/links/{node}/{port}/windows', place(link), { ...span, max_points: 2000, flows: flows.join(',') }), link.startNs));
      if (key === s.selected) {
        s.windows = record;
        this.draw();
      }
    } catch {
      // The state of the connection is shown by the event stream.
    } finally {
      this.loadingWindows = false;
    }
  }

  /** Fetches the estimates that the controller keeps of the chosen port. */
  async history(): Promise<void> {
    const s = this.state;
    const link = s.link;
    if (!link) return;
    try {
      const answer = await get('/links/{node}/{port}/estimates', place(link), { max_points: 3600 });
      if (linkKey(link) !== s.selected) return;
      s.setHistory(estimateHistory(answer, link.startNs));
      this.draw();
    } catch {
      // An older controller keeps none: the history begins now.
    }
  }

  /** Fetches advice, counters and distribution of the chosen port. */
  async poll(): Promise<void> {
    if (this.polling) {
      this.pollAgain = true;
      return;
    }
    this.polling = true;
    try {
      await Promise.allSettled([...this.ofController(), ...this.ofLink()]);
      this.draw();
    } finally {
      this.polling = false;
      if (this.pollAgain) {
        this.pollAgain = false;
        void this.poll();
      }
    }
  }

  private ofController(): Promise<void>[] {
    const s = this.state;
    return [
      get('/status', {}, {}).then((a) => {
        s.status = status(a);
        const sample = counterSample(s.status, performance.now());
        if (sample) s.counters.add(sample);
      }),
      get('/changes', {}, {}).then((a) => s.setChanges(changes(a))),
    ];
  }

  /** Fetches the named spans, with the estimates over each at the port shown. */
  async phases(): Promise<void> {
    const link = this.state.link;
    if (!link) return;
    try {
      const answer = await get('/phases', {}, { ...place(link), max_phases: 1000 });
      if (linkKey(link) !== this.state.selected) return;
      this.state.phases = phases(answer);
      this.draw();
    } catch {
      // They come with the next phase that starts or ends.
    }
  }

  private ofLink(): Promise<void>[] {
    const s = this.state;
    const link = s.link;
    if (!link) return [];
    const still = () => linkKey(link) === s.selected;
    return [
      get('/advice', {}, place(link)).then((a) => {
        if (still()) s.setAdvice(adviceState(a));
      }),
      get('/verdict', {}, place(link)).then((a) => {
        if (still()) s.curve = verdictState(a)?.curve ?? [];
      }),
      get('/links/{node}/{port}/distribution', place(link), { last_s: DISTRIBUTION_S }).then((a) => {
        if (still()) s.distribution = distribution(a);
      }),
    ];
  }
}
