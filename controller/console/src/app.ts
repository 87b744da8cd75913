// SPDX-License-Identifier: Apache-2.0
// Ties events, fetching and panels together: one state, one draw per frame at
// most.

import { change, links } from './api/adapt';
import { API, token, url } from './api/client';
import { Events } from './api/events';
import { applyAdvice, changeTargets } from './changing';
import { CURVE_POINTS, Fetching } from './fetching';
import type { SizeUnit } from './format/units';
import { layOut } from './layout';
import { freshness, type Freshness } from './model/freshness';
import { linkKey, linkTitle } from './model/links';
import { State } from './state';
import type { Panel } from './views/panel';

const UNIT = 'tidemark.unit';

export class App {
  private readonly state = new State();
  private readonly events: Events;
  private readonly fetching: Fetching;
  private readonly panels: Panel[];
  private drawing = false;

  constructor(root: HTMLElement) {
    const stored = localStorage.getItem(UNIT);
    if (stored === 'packets' || stored === 'ms') this.state.unit = stored;
    this.fetching = new Fetching(
      this.state,
      () => this.draw(),
      () => this.events.connection === 'live',
    );
    const poll = () => void this.fetching.poll();
    this.panels = layOut(root, {
      selectLink: (key) => this.select(key),
      selectUnit: (unit) => this.setUnit(unit),
      setWindow: (s) => {
        this.state.window = s;
        this.follow();
      },
      hold: (from, to) => void this.fetching.hold(from, to),
      follow: () => this.follow(),
      apply: (advice, secret) => applyAdvice(advice, secret, poll),
      setTargets: (t, secret) => changeTargets(this.state.link, t, secret, poll),
      token,
    });
    this.events = new Events({
      open: () => new EventSource(new URL('events', API)),
      onEvent: (name, data) => this.onEvent(name, data),
      onConnection: (s) => {
        if (s === 'live') poll();
        this.draw();
      },
      now: () => performance.now(),
    });
  }

  start(): void {
    this.events.start();
    setInterval(() => {
      this.events.tick();
      const fresh = this.freshness();
      for (const p of this.panels) p.tick?.(fresh, this.state.status);
    }, 500);
    setInterval(() => {
      if (this.events.connection === 'live' && !document.hidden) void this.fetching.poll();
    }, 2000);
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        void this.fetching.series();
        this.draw();
      }
    });
    this.draw();
  }

  private onEvent(name: string, data: unknown): void {
    if (name === 'update') this.onUpdate(data);
    else if (name === 'change') {
      this.state.addChange(change(data));
      void this.fetching.poll();
    } else if (name === 'collector') void this.fetching.poll();
    this.draw();
  }

  private onUpdate(data: unknown): void {
    this.state.update(links(data));
    const [first] = this.state.links;
    if (!this.state.link && first) this.select(linkKey(first));
    if (!document.hidden) void this.fetching.series();
  }

  private select(key: string): void {
    this.state.select(key);
    for (const p of this.panels) p.reset?.();
    const link = this.state.link;
    document.title = link ? `${linkTitle(link)} · Tidemark` : 'Tidemark';
    void this.fetching.series();
    void this.fetching.poll();
    this.draw();
  }

  private setUnit(unit: SizeUnit): void {
    this.state.unit = unit;
    localStorage.setItem(UNIT, unit);
    this.draw();
  }

  private follow(): void {
    this.state.held = null;
    void this.fetching.series();
    this.draw();
  }

  private freshness(): Freshness {
    const link = this.state.link;
    const away = this.state.status?.collectors.find((c) => c.connected === false);
    return freshness({
      connection: this.events.connection,
      silenceMs: this.events.silence(),
      haveLink: link !== null,
      telemetryAgeMs: link?.ageMs ?? null,
      nodeAgeMs: link?.nodeAgeMs ?? null,
      lagMs: link?.lagMs ?? null,
      stale: link?.stale ?? false,
      collectorProblem: away ? `Collector ${away.address}: ${away.problem || 'not connected'}. The controller tries again.` : '',
    });
  }

  /** Draws once per frame however many changes came in. */
  private draw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const link = this.state.link;
      const csv = link ? url('/curve', {}, { node: link.node, port: link.port, points: CURVE_POINTS, format: 'csv' }) : null;
      const snapshot = this.state.snapshot(this.freshness(), csv);
      for (const p of this.panels) p.update(snapshot);
    });
  }
}
