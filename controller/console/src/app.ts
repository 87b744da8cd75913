// SPDX-License-Identifier: Apache-2.0
// Ties the controller's API to the views: one state, one draw per frame at most.

import { adviceState, change, changes, curve as readCurve, distribution as readDistribution, links as readLinks, packets as readPackets, series as readSeries, status as readStatus } from './api/adapt';
import { ApiError, API, get, post, token, url } from './api/client';
import { Events } from './api/events';
import { number, object } from './api/json';
import { h } from './dom';
import type { SizeUnit } from './format/units';
import { distributionOfPackets } from './model/distribution';
import { freshness, type Freshness } from './model/freshness';
import { limitBytes, linkKey, linkTitle, sizeContext } from './model/links';
import { Recording } from './model/recording';
import { Series } from './model/series';
import type { AdviceState, AuditEntry, CurvePoint, Distribution, Link, Packets, Rule, Status } from './model/types';
import { ESTIMATES } from './model/types';
import { AdviceView } from './views/advice';
import { Audit } from './views/audit';
import { type EstimateColumn, estimateColumns, Estimates } from './views/estimates';
import { Flows } from './views/flows';
import { Header } from './views/header';
import { Health } from './views/health';
import { Recorder } from './views/recorder';
import { Outlook } from './views/outlook';
import { Rules } from './views/rules';
import type { NewTargets } from './views/targets';

/** Rows of history of the estimates kept per port: an hour at one per second. */
const ESTIMATE_ROWS = 3600;
/** Ports whose history is kept. */
const MOST_LINKS = 64;
/** Changes listed. */
const MOST_CHANGES = 100;
/** Longest span shown packet by packet, seconds. */
const PACKET_SPAN = 2.5;
const MAX_PACKETS = 20_000;
/** How far back the distribution beside the live chart reaches, seconds. */
const DISTRIBUTION_S = 60;
const CURVE_POINTS = 60;
const UNIT = 'tidemark.unit';

export class App {
  private links: Link[] = [];
  private selected = '';
  private recording = new Recording(30);
  private heldRecording: Recording | null = null;
  private estimates = new Map<string, Series<EstimateColumn>>();
  private advice: AdviceState | null = null;
  private rules: Rule[] = [];
  private curve: CurvePoint[] = [];
  private status: Status | null = null;
  private changes: AuditEntry[] = [];
  private unit: SizeUnit = 'bytes';
  private window = 30;
  private held: { from: number; to: number } | null = null;
  private packets: Packets | null = null;
  private packetsDistribution: Distribution | null = null;
  private packetsNote = '';
  /** Of the last while, or of the held span. */
  private distribution: Distribution | null = null;
  private heldDistribution: Distribution | null = null;
  private readonly events: Events;
  private readonly header: Header;
  private readonly health = new Health();
  private readonly recorder: Recorder;
  private readonly estimatesView = new Estimates();
  private readonly rulesView = new Rules();
  private readonly adviceView: AdviceView;
  private readonly outlook = new Outlook();
  private readonly flows = new Flows();
  private readonly audit = new Audit();
  private drawing = false;
  private loadingSeries = false;
  private polling = false;
  private pollAgain = false;
  private holdRequest = 0;

  constructor(root: HTMLElement) {
    const stored = localStorage.getItem(UNIT);
    if (stored === 'packets' || stored === 'ms') this.unit = stored;
    this.header = new Header({ selectLink: (k) => this.select(k), selectUnit: (u) => this.setUnit(u) });
    this.recorder = new Recorder({
      setWindow: (s) => {
        this.window = s;
        this.follow();
      },
      hold: (from, to) => void this.hold(from, to),
      follow: () => this.follow(),
    });
    this.adviceView = new AdviceView({
      apply: (s, t) => this.apply(s, t),
      setTargets: (t, secret) => this.setTargets(t, secret),
      token,
    });
    root.append(
      this.header.element,
      this.health.element,
      h(
        'main',
        {},
        this.recorder.element,
        this.estimatesView.element,
        h('div', { class: 'sizing' }, this.rulesView.element, h('div', { class: 'stack' }, this.adviceView.element, this.outlook.element)),
        this.flows.element,
        this.audit.element,
      ),
    );
    this.header.showUnit(this.unit);
    this.events = new Events({
      open: () => new EventSource(new URL('events', API)),
      onEvent: (name, data) => this.onEvent(name, data),
      onConnection: (s) => {
        if (s === 'live') void this.poll();
        this.draw();
      },
      now: () => performance.now(),
    });
  }

  start(): void {
    this.events.start();
    setInterval(() => {
      this.events.tick();
      this.health.update(this.freshness(), this.status);
    }, 500);
    setInterval(() => {
      if (this.events.connection === 'live' && !document.hidden) void this.poll();
    }, 2000);
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) {
        void this.loadSeries();
        this.draw();
      }
    });
    this.draw();
  }

  private get link(): Link | null {
    return this.links.find((l) => linkKey(l) === this.selected) ?? null;
  }

  private onEvent(name: string, data: unknown): void {
    if (name === 'update') this.onUpdate(data);
    else if (name === 'change') {
      this.changes = [change(data), ...this.changes].slice(0, MOST_CHANGES);
      void this.poll();
    } else if (name === 'collector') void this.poll();
    this.draw();
  }

  private onUpdate(data: unknown): void {
    const links = readLinks(data).slice(0, MOST_LINKS);
    for (const l of links) this.remember(l);
    this.links = links;
    this.freshenAdvice();
    if (!this.link && links[0]) this.select(linkKey(links[0]));
    if (!document.hidden) void this.loadSeries();
  }

  /** The advice of this second; its rules come with the next poll. */
  private freshenAdvice(): void {
    const brief = this.link?.advice;
    if (this.advice && brief) this.advice = { ...this.advice, advice: { ...brief, rules: this.rules } };
  }

  /** Keeps the estimates of every port, also of those not shown. */
  private remember(l: Link): void {
    if (!l.estimate) return;
    const key = linkKey(l);
    let s = this.estimates.get(key);
    // Another zero of time: the switch or the collector began anew.
    const known = this.links.find((o) => linkKey(o) === key);
    const backwards = s !== undefined && s.lastTime !== null && l.estimate.to < s.lastTime - 1;
    if (s && (backwards || (known && known.startNs !== l.startNs))) {
      s.clear();
      if (key === this.selected) {
        this.recording = new Recording(this.window);
        this.distribution = null;
        this.follow();
      }
    }
    if (!s) {
      if (this.estimates.size >= MOST_LINKS) return;
      s = new Series(estimateColumns(), ESTIMATE_ROWS);
      this.estimates.set(key, s);
    }
    const row: Partial<Record<EstimateColumn, number | null>> = {};
    for (const n of ESTIMATES) {
      const e = l.estimate.values[n];
      row[n] = e?.value ?? null;
      row[`${n}Low`] = e?.low ?? null;
      row[`${n}High`] = e?.high ?? null;
    }
    s.push(l.estimate.to, row);
  }

  private select(key: string): void {
    this.selected = key;
    this.recording = new Recording(this.window);
    this.distribution = null;
    this.advice = null;
    this.rules = [];
    this.curve = [];
    this.held = null;
    this.heldRecording = null;
    this.heldDistribution = null;
    this.packets = null;
    this.recorder.reset();
    this.estimatesView.reset();
    const link = this.link;
    document.title = link ? `${linkTitle(link)} · Tidemark` : 'Tidemark';
    void this.loadSeries();
    void this.poll();
    this.draw();
  }

  private setUnit(unit: SizeUnit): void {
    this.unit = unit;
    localStorage.setItem(UNIT, unit);
    this.header.showUnit(unit);
    this.draw();
  }

  /** Fetches what is new of the chosen port, at the resolution of the window. */
  private async loadSeries(): Promise<void> {
    const link = this.link;
    if (!link || this.loadingSeries || this.held) return;
    this.loadingSeries = true;
    const recording = this.recording;
    const target = recording.matches(this.window) ? recording : new Recording(this.window);
    const key = this.selected;
    try {
      const query = target.query(link.startNs, link.now);
      if (!query) return;
      target.add(readSeries(await get(`links/${link.node}/${link.port}/series`, { ...query }), link.startNs));
      // Shown only when it is there: no blank chart while it loads.
      if (recording === this.recording && key === this.selected) {
        this.recording = target;
        this.draw();
      }
    } catch {
      // The state of the connection is shown by the event stream.
    } finally {
      this.loadingSeries = false;
    }
    if (!this.recording.matches(this.window) && key === this.selected && this.events.connection === 'live') void this.loadSeries();
  }

  /** The held span at the finest resolution the controller has of it. */
  private async loadHeld(link: Link, from: number, to: number, request: number): Promise<void> {
    const recording = new Recording(0); // takes any step
    try {
      const span = { from_ns: link.startNs + from * 1e9, to_ns: link.startNs + to * 1e9 };
      const path = `links/${link.node}/${link.port}`;
      const [series, occupancy] = await Promise.all([
        get(`${path}/series`, { ...span, max_points: 2000 }),
        get(`${path}/distribution`, span),
      ]);
      recording.add(readSeries(series, link.startNs));
      if (request !== this.holdRequest || !this.held || recording.series.length === 0) return;
      this.heldRecording = recording;
      this.heldDistribution = readDistribution(occupancy);
      this.draw();
    } catch {
      // What is already there stays.
    }
  }

  /** What does not come with the events: advice, counters, distribution. */
  private async poll(): Promise<void> {
    if (this.polling) {
      this.pollAgain = true;
      return;
    }
    this.polling = true;
    const link = this.link;
    try {
      const jobs: Promise<void>[] = [
        get('status').then((s) => {
          this.status = readStatus(s);
        }),
        get('changes').then((c) => {
          this.changes = changes(c).slice(0, MOST_CHANGES);
        }),
      ];
      if (link) {
        const place = { node: link.node, port: link.port };
        jobs.push(
          get('advice', place).then((a) => {
            if (linkKey(link) !== this.selected) return;
            this.advice = adviceState(a);
            if (this.advice && this.advice.advice.rules.length > 0) this.rules = this.advice.advice.rules;
          }),
        );
        jobs.push(
          get('curve', { ...place, points: CURVE_POINTS }).then((c) => {
            if (linkKey(link) === this.selected) this.curve = readCurve(c);
          }),
        );
        jobs.push(
          get(`links/${link.node}/${link.port}/distribution`, { last_s: DISTRIBUTION_S }).then((d) => {
            if (linkKey(link) === this.selected) this.distribution = readDistribution(d);
          }),
        );
      }
      await Promise.allSettled(jobs);
      this.draw();
    } finally {
      this.polling = false;
      if (this.pollAgain) {
        this.pollAgain = false;
        void this.poll();
      }
    }
  }

  private async hold(from: number, to: number): Promise<void> {
    const link = this.link;
    if (!link || !(to > from)) return;
    this.held = { from, to };
    this.packets = null;
    const request = ++this.holdRequest;
    void this.loadHeld(link, from, to, request);
    if (to - from > PACKET_SPAN) {
      this.packetsNote = `Held. Choose ${PACKET_SPAN} s or less to see single packets.`;
      this.draw();
      return;
    }
    this.packetsNote = 'Held. Reading packets.';
    this.draw();
    try {
      const p = readPackets(
        await get(`links/${link.node}/${link.port}/packets`, {
          from_ns: link.startNs + from * 1e9,
          to_ns: link.startNs + to * 1e9,
          max_packets: MAX_PACKETS,
        }),
        link.startNs,
      );
      if (request !== this.holdRequest || !this.held) return;
      if (p.time.length === 0) {
        this.packetsNote = 'Held. The collector no longer has the packets of this span; intervals are shown.';
      } else {
        this.packets = p;
        this.packetsDistribution = distributionOfPackets(p);
        const drops = p.dropped.filter(Boolean).length;
        this.packetsNote =
          `Held. Every dot is a packet at its arrival (${p.time.length}), every cross a drop (${drops}).` +
          (p.truncated ? ' The span holds more packets than are shown.' : '');
      }
    } catch (e) {
      if (request !== this.holdRequest) return;
      this.packetsNote = `Held. Packets could not be read: ${e instanceof Error ? e.message : String(e)}`;
    }
    this.draw();
  }

  private follow(): void {
    this.held = null;
    this.heldRecording = null;
    this.heldDistribution = null;
    void this.loadSeries();
    this.packets = null;
    this.holdRequest += 1;
    this.draw();
  }

  private async apply(s: AdviceState, secret: string): Promise<string> {
    const answer = object(await this.change('advice/apply', { ...s.link, bytes: s.advice.advisedBytes }, secret));
    const set = number(object(answer.limit).limit_bytes);
    return set === null ? 'Set.' : `Set. The switch was read back: ${set} B.`;
  }

  private async setTargets(t: NewTargets, secret: string): Promise<void> {
    const link = this.link;
    if (!link) throw new Error('No port is chosen.');
    const body = { node: link.node, port: link.port, utilisation: t.utilisation, loss_rate: t.lossRate, delay_ms: t.delayMs, priority: t.priority };
    await this.change('targets', body, secret);
  }

  /** Posts with the operator's token and keeps it when it was accepted. */
  private async change(path: string, body: unknown, secret: string): Promise<unknown> {
    try {
      const answer = await post(path, body, secret);
      token.set(secret);
      void this.poll();
      return answer;
    } catch (e) {
      if (e instanceof ApiError && e.status === 401) {
        token.clear();
        throw new Error('The controller does not accept this token.');
      }
      // Refused for another reason: the token was right.
      if (e instanceof ApiError && e.status > 0) token.set(secret);
      if (e instanceof ApiError && e.status === 409 && e.field === 'bytes') {
        void this.poll();
        throw new Error('The advice has moved since. The value above follows it: apply again if you want that one.');
      }
      throw e;
    }
  }

  private freshness(): Freshness {
    const link = this.link;
    const away = this.status?.collectors.find((c) => c.connected === false);
    return freshness({
      connection: this.events.connection,
      silenceMs: this.events.silence(),
      haveLink: link !== null,
      telemetryAgeMs: link?.ageMs ?? null,
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
      this.render();
    });
  }

  private render(): void {
    const link = this.link;
    const fresh = this.freshness();
    const context = sizeContext(link);
    const limit = link ? limitBytes(link) : null;
    const advice = this.advice?.advice ?? null;
    const now = this.recording.series.lastTime ?? link?.now ?? 0;
    // In its first seconds a record fills from the left.
    const end = this.held?.to ?? Math.max(this.window, now + this.recording.step);
    const start = this.held?.from ?? end - this.window;
    this.header.update(this.links, link);
    this.health.update(fresh, this.status);
    this.recorder.update({
      recording: this.held ? (this.heldRecording ?? this.recording) : this.recording,
      from: start,
      to: end,
      window: this.window,
      held: this.held !== null,
      packets: this.packets,
      packetsNote: this.packetsNote,
      distribution: this.packets ? this.packetsDistribution : this.held ? this.heldDistribution : this.distribution,
      limit,
      advised: advice?.advisedBytes ?? null,
      targets: link?.targets ?? null,
      unit: this.unit,
      context,
      stale: fresh.level === 'stale' || fresh.level === 'lost',
    });
    const history = this.estimates.get(this.selected);
    if (history) this.estimatesView.update(link?.estimate ?? null, history);
    this.rulesView.update({
      rules: this.rules,
      deciding: advice?.rule ?? '',
      limit,
      advised: advice?.advisedBytes ?? null,
      unit: this.unit,
      context,
    });
    this.outlook.update({
      points: this.curve,
      limit,
      advised: advice?.advisedBytes ?? null,
      targets: this.advice?.targets ?? null,
      unit: this.unit,
      context,
      csv: link ? url('curve', { node: link.node, port: link.port, points: CURVE_POINTS, format: 'csv' }) : null,
    });
    this.adviceView.update({
      state: this.advice,
      limit,
      unit: this.unit,
      context,
      mode: this.status?.mode ?? '',
      watching: link?.watching ?? '',
    });
    this.flows.update(link?.estimate ?? null);
    this.audit.update(this.changes);
  }
}
