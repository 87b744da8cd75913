// SPDX-License-Identifier: Apache-2.0
// Ties events, fetching and panels together: one state, one draw per frame at
// most.

import { API, token } from './api/client';
import { Events } from './api/events';
import { briefs, links } from './api/link';
import { change } from './api/status';
import { applyAdvice, changeTargets } from './changing';
import { captionOf, setCaption } from './charts/caption';
import { setClock } from './charts/clock';
import { Fetching } from './fetching';
import { bytes, type SizeUnit } from './format/units';
import { Holding } from './holding';
import { layOut } from './layout';
import { type Address, formatAddress, parseAddress } from './model/address';
import { briefOf, sortOverview } from './model/overview';
import { freshness, type Freshness } from './model/freshness';
import { linkKey, linkTitle } from './model/links';
import { State } from './state';
import { WINDOWS } from './views/controls';
import type { Panel } from './views/panel';

const UNIT = 'tidemark.unit';

export class App {
  private readonly state = new State();
  private readonly events: Events;
  private readonly fetching: Fetching;
  private readonly holding: Holding;
  private readonly panels: Panel[];
  private drawing = false;
  /** The port whose history was requested. */
  private arrived = '';
  /** The port of a finished run that is shown in full. */
  private whole = '';
  /** Whether a finished run is shown; null until it is known. */
  private recorded: boolean | null = null;
  /** The fragment of the address, as last written or visited. */
  private hash = location.hash;
  /** View that the address asks for and that is not shown yet. */
  private wanted: Address | null = null;

  constructor(root: HTMLElement) {
    const stored = localStorage.getItem(UNIT);
    if (stored === 'packets' || stored === 'ms') this.state.unit = stored;
    this.fetching = new Fetching(
      this.state,
      () => this.draw(),
      () => this.events.connection === 'live',
    );
    this.holding = new Holding(this.state, () => this.draw());
    const poll = () => void this.fetching.poll();
    this.panels = layOut(root, {
      selectLink: (key) => this.select(key),
      selectUnit: (unit) => this.setUnit(unit),
      setWindow: (s) => {
        this.state.window = s;
        this.follow();
      },
      hold: (from, to) => void this.holding.hold(from, to),
      chooseFlows: (ids) => {
        this.state.choose(ids);
        const held = this.state.held;
        if (held) void this.holding.hold(held.from, held.to);
        else void this.fetching.windows();
        this.draw();
      },
      follow: () => this.follow(),
      apply: (advice, secret) => applyAdvice(advice, secret, poll),
      setTargets: (t, secret) => changeTargets(this.state.link, t, secret, poll),
      token,
    });
    this.events = new Events({
      open: () => new EventSource(this.stream()),
      onEvent: (name, data) => this.onEvent(name, data),
      onConnection: (s) => {
        if (s === 'live') {
          poll();
          void this.fetching.phases();
        }
        this.draw();
      },
      now: () => performance.now(),
    });
    this.goTo(parseAddress(location.hash));
  }

  /** Address of the events: the shown port in full, others as in the overview. */
  private stream(): URL {
    const at = new URL('events', API);
    const [node, port, queue] = this.state.selected.split(':');
    if (node && port) {
      at.searchParams.set('node', node);
      at.searchParams.set('port', port);
      if (queue) at.searchParams.set('queue', queue);
    }
    return at;
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
        void this.fetching.windows();
        this.draw();
      }
    });
    window.addEventListener('hashchange', () => {
      this.hash = location.hash;
      if (this.hash !== formatAddress(this.address())) this.goTo(parseAddress(location.hash));
    });
    this.draw();
  }

  private onEvent(name: string, data: unknown): void {
    if (name === 'update') this.onUpdate(data);
    else if (name === 'change') {
      this.state.addChange(change(data));
      void this.fetching.poll();
    } else if (name === 'phase') void this.fetching.phases();
    else if (name === 'collector') void this.fetching.poll();
    this.draw();
  }

  /**
   * Reloads the page if a finished run has replaced a live link at this address, or vice versa, as
   * when `tidemark demo --replay` has ended: nothing that the page holds is valid for it.
   */
  private turn(): boolean {
    if (!this.state.status) return false;
    const before = this.recorded;
    this.recorded = this.state.status.finished != null;
    if (before === null || before === this.recorded) return false;
    location.reload();
    return true;
  }

  private onUpdate(data: unknown): void {
    if (this.turn()) return;
    const full = links(data);
    const overview = briefs(data) ?? full.map(briefOf);
    this.state.update(full, overview, performance.now());
    const [first] = sortOverview(overview);
    if (!this.state.selected && first) {
      this.select(linkKey(first));
      return;
    }
    // If the requested port does not exist, show another one.
    if (!this.state.link && first && !overview.some((l) => linkKey(l) === this.state.selected)) this.select(linkKey(first));
    this.arrive();
    this.showRun();
    if (document.hidden) return;
    void this.fetching.series();
    void this.fetching.windows();
    if (overview.length > 1) void this.fetching.trails();
  }

  /** Once a finished run has been read, shows its results, and all of it in the charts. */
  private showRun(): void {
    const link = this.state.link;
    const whole = this.state.status?.finished?.read === 1;
    if (!link || !whole || this.whole === this.state.selected) return;
    this.whole = this.state.selected;
    void this.fetching.history();
    void this.fetching.poll();
    void this.fetching.phases();
    if (!this.state.held) this.follow();
  }

  /** Shows the parts that need the port. */
  private arrive(): void {
    const link = this.state.link;
    if (!link) return;
    setClock(link.startUnixMs);
    if (this.arrived === this.state.selected) return;
    this.arrived = this.state.selected;
    document.title = `${linkTitle(link)} · Tidemark`;
    void this.fetching.history();
    void this.fetching.poll();
    void this.fetching.phases();
    const span = this.wanted?.span;
    if (span && this.wanted?.link === this.state.selected) void this.holding.hold(span[0] - link.startNs / 1e9, span[1] - link.startNs / 1e9);
    this.wanted = null;
  }

  private select(key: string): void {
    this.state.select(key);
    this.arrived = '';
    this.whole = '';
    setClock(null);
    for (const p of this.panels) p.reset?.();
    this.events.restart();
    this.arrive();
    this.draw();
  }

  private goTo(a: Address): void {
    if (a.window !== null && WINDOWS.some((w) => w === a.window)) this.state.window = a.window;
    this.wanted = a;
    if (a.link && a.link !== this.state.selected) this.select(a.link);
    else if (a.span) {
      this.arrived = '';
      this.arrive();
    } else if (this.state.held) this.follow();
    if (a.flows) this.state.choose(a.flows);
    this.draw();
  }

  /** Returns the address of the current view. */
  private address(): Address {
    const s = this.state;
    const zero = (s.link?.startNs ?? 0) / 1e9;
    return {
      link: s.selected || null,
      window: s.window === WINDOWS[1] ? null : s.window,
      span: s.held && s.link ? [zero + s.held.from, zero + s.held.to] : null,
      // A held span keeps its flows, even unpicked ones: its picture is the same after a reload.
      flows: s.pickedFlows ? [...s.pickedFlows] : s.held && s.chosen.length > 0 ? [...s.chosen] : null,
    };
  }

  /** Writes the address of the current view to the browser's address bar. */
  private showAddress(): void {
    // The address was changed elsewhere: it is about to be visited and must not be overwritten.
    if (!this.state.link || this.wanted || location.hash !== this.hash) return;
    const hash = formatAddress(this.address());
    if (location.hash !== hash) history.replaceState(null, '', hash || location.pathname);
    this.hash = location.hash;
  }

  private setUnit(unit: SizeUnit): void {
    this.state.unit = unit;
    localStorage.setItem(UNIT, unit);
    this.draw();
  }

  /** Shows the newest data of a live link, or all of a finished run. */
  private follow(): void {
    const link = this.state.link;
    if (this.state.status?.finished && link) {
      void this.holding.hold(0, link.now);
      return;
    }
    this.state.held = null;
    void this.fetching.series();
    void this.fetching.windows();
    this.draw();
  }

  private freshness(): Freshness {
    const link = this.state.link;
    const key = this.state.selected;
    const doubt = this.state.counters.doubt() ?? (link ? this.state.limits.doubt(key, link, bytes) : null);
    const away = this.state.status?.collectors.find((c) => c.connected === false);
    return freshness({
      connection: this.events.connection,
      silenceMs: this.events.silence(),
      haveLink: link !== null,
      telemetryAgeMs: link?.ageMs ?? null,
      nodeAgeMs: link?.nodeAgeMs ?? null,
      lagMs: link?.lagMs ?? null,
      stale: link?.stale ?? false,
      doubt,
      finished: this.state.status ? this.state.status.finished : undefined,
      collectorProblem: away ? `Collector ${away.address}: ${away.problem || 'not connected'}. The controller tries again.` : '',
    });
  }

  /** Draws once per frame, however many changes came in. */
  private draw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const snapshot = this.state.snapshot(this.freshness());
      setCaption(captionOf(this.state.link, this.state.status));
      for (const p of this.panels) p.update(snapshot);
      this.showAddress();
    });
  }
}
