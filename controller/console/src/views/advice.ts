// SPDX-License-Identifier: Apache-2.0
// What to set, what to expect of it, and the button that sets it.

import { attr, h, keyed, prose, text } from '../dom';
import { formatSize, milliseconds, MISSING, percent, type SizeContext, type SizeUnit } from '../format/units';
import { limitText, marks } from '../model/links';
import type { AdviceState, Interval, Limit, Marking } from '../model/types';
import { ConfirmDialog } from './confirm';
import type { Actions, MakePanel, NewTargets } from './panel';
import { TargetsForm } from './targets';
import { docs } from './terms';

export interface AdviceViewState {
  state: AdviceState | null;
  limit: number | null;
  /** As read from the switch. */
  inForce: Limit | null;
  unit: SizeUnit;
  context: SizeContext;
  mode: string;
  watching: string;
  /** A run that goes on no more. */
  finished: boolean;
}

export type AdviceActions = Pick<Actions, 'apply' | 'setTargets' | 'token'>;

const QUANTITIES = ['utilisation', 'loss', 'delay'] as const;
type Quantity = (typeof QUANTITIES)[number];
const LABELS: Record<Quantity, string> = { utilisation: 'utilisation', loss: 'loss', delay: 'largest delay' };
const COLUMNS = ['advised', 'present', 'measured', 'target'] as const;
type Column = (typeof COLUMNS)[number];

function range(i: Interval | null, f: (v: number) => string): [string, string] {
  if (!i) return [MISSING, ''];
  const value = f(i.value);
  const low = f(i.low);
  const high = f(i.high);
  return [value, low === high ? '' : `${low} to ${high}`];
}

/** What is expected of the advised limit, and how it will be watched. */
function expectations(s: AdviceViewState): string[] {
  const a = s.state?.advice;
  if (!a) return [];
  const p = a.predicted;
  const o = a.observed;
  const t = s.state?.targets;
  const line = (name: string, i: Interval | null | undefined, now: number | null | undefined, target: string, f: (v: number) => string): string[] => {
    if (!i) return [];
    const spread = f(i.low) === f(i.high) ? '' : ` (${f(i.low)} to ${f(i.high)})`;
    return [`${name}: ${f(i.value)}${spread} expected, ${now == null ? MISSING : f(now)} measured now${target}.`];
  };
  const goal = (sign: string, v: number | null | undefined, f: (v: number) => string): string => (v == null ? '' : `, target ${sign} ${f(v)}`);
  return [
    ...line('Utilisation', p?.utilisation, o?.utilisation, goal('≥', t?.utilisation, percent), percent),
    ...line('Loss', p?.lossRate, o?.lossRate, goal('≤', t?.lossRate, percent), percent),
    ...line('Largest delay', p?.delayMs, o?.delayMaxMs, goal('≤', t?.delayMs, milliseconds), milliseconds),
    'The controller reads the limit back, then measures its effect; the verdict stands under Changes. Where it is worse than before, a controller in mode auto takes it back, and one in mode confirm says so.',
  ];
}

export class AdviceView {
  readonly element: HTMLElement;
  private readonly size = h('b', { class: 'advised-size' }, MISSING);
  private readonly other = h('span', { class: 'advised-other' });
  private readonly change = h('p', { class: 'advised-change' });
  private readonly marking = h('p', { class: 'advised-marking', hidden: true });
  private readonly cells = new Map<string, { value: Element; range: Element; cell: Element }>();
  private readonly reasons = h('ol', { class: 'reasons' });
  private readonly warning = h('p', { class: 'warning', hidden: true });
  private readonly button: HTMLButtonElement;
  private readonly dialog: ConfirmDialog;
  private readonly targets: TargetsForm;
  private readonly outcome = h('p', { class: 'outcome', role: 'status' });
  private readonly blocked = h('p', { class: 'blocked', id: 'apply-why' });
  private current: AdviceViewState | null = null;

  constructor(private readonly actions: AdviceActions) {
    this.button = h('button', { type: 'button', class: 'primary', 'aria-describedby': 'apply-why', disabled: true }, 'Apply to switch');
    this.button.addEventListener('click', () => this.open());
    this.dialog = new ConfirmDialog(actions.token);
    this.targets = new TargetsForm((t) => this.askTargets(t));

    const head = h('tr', {}, h('td', {}), ...COLUMNS.map((c) => h('th', { scope: 'col', class: `col-${c}` }, this.heading(c))));
    const body = h('tbody');
    for (const q of QUANTITIES) {
      const tr = h('tr', {}, h('th', { scope: 'row' }, LABELS[q]));
      for (const c of COLUMNS) {
        const value = h('span', {}, MISSING);
        const rangeText = h('small');
        const cell = h('td', { class: `col-${c}` }, value, rangeText);
        this.cells.set(`${q}/${c}`, { value, range: rangeText, cell });
        tr.append(cell);
      }
      body.append(tr);
    }
    this.element = h(
      'section',
      { class: 'advice', 'aria-labelledby': 'advice-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'advice-title' }, 'Advice'), docs('explanation/control.html', '?', 'How limits are advised, set and watched')),
      h('p', { class: 'advised-line' }, this.size, this.other),
      this.change,
      this.marking,
      this.warning,
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What is expected' }, h('table', { class: 'outlook' }, h('thead', {}, head), body)),
      h('div', { class: 'apply-row' }, this.button, this.blocked),
      this.outcome,
      h('details', { class: 'why', open: true }, h('summary', {}, 'How this was reached'), this.reasons),
      this.targets.element,
      this.dialog.element,
    );
  }

  private heading(c: Column): string {
    return { advised: 'predicted, advised', present: 'predicted, now', measured: 'measured', target: 'target' }[c];
  }

  update(s: AdviceViewState): void {
    this.current = s;
    const a = s.state?.advice ?? null;
    const advised = a?.advisedBytes ?? null;
    text(this.size, formatSize(s.unit, advised, s.context));
    const others: SizeUnit[] = (['bytes', 'packets', 'ms'] as const).filter((u) => u !== s.unit);
    text(this.other, advised === null ? 'no limit can be advised yet' : others.map((u) => formatSize(u, advised, s.context)).join(', '));
    text(this.change, this.changeWords(s, advised));
    const room = this.room(s);
    attr(this.marking, 'hidden', room === null);
    text(this.marking, room === null ? '' : this.markingWords(s, room));
    const givenUp = a?.givenUp ?? [];
    attr(this.warning, 'hidden', givenUp.length === 0);
    text(this.warning, givenUp.length > 0 ? `The targets cannot hold together: ${givenUp.join(' and ')} given up, by your priority.` : '');
    this.showOutlook(s);
    this.dialog.refresh();
    this.targets.update(s.finished ? null : (s.state?.targets ?? null));
    keyed(
      this.reasons,
      (a?.reasons ?? []).map((r, i) => ({ r, i })),
      (x) => String(x.i),
      () => h('li'),
      (li, x) => prose(li, x.r),
    );
    const can = s.state?.canApply === true && advised !== null;
    attr(this.button, 'disabled', !can);
    const why = s.watching || (can ? '' : s.state?.whyNot || (s.mode === 'recommend' ? 'The controller only recommends (control.mode).' : ''));
    text(this.blocked, why);
  }

  private changeWords(s: AdviceViewState, advised: number | null): string {
    if (advised === null) return '';
    if (s.limit === null) return 'No limit is in force now.';
    const ratio = advised / s.limit;
    const now = formatSize(s.unit, s.limit, s.context);
    if (Math.abs(ratio - 1) < 0.01) return `The limit in force, ${now}, is already that.`;
    return `${percent(Math.abs(ratio - 1))} ${ratio < 1 ? 'less' : 'more'} than the limit in force, ${now}.`;
  }

  /** What is advised above the threshold, where the port marks. */
  private room(s: AdviceViewState): Marking | null {
    return marks(s.inForce) ? (s.state?.advice.marking ?? null) : null;
  }

  private markingWords(s: AdviceViewState, room: Marking): string {
    const limit = formatSize(s.unit, room.limitBytes, s.context);
    const now = s.inForce?.refusesAtBytes ?? null;
    const inForce = now === null ? 'no limit is in force above the threshold, and none is set' : `in force: ${formatSize(s.unit, now, s.context)}`;
    return `This port marks: the size above is its threshold, with a limit of ${limit} (${milliseconds(room.limitMs)}) above it (${inForce}). ${room.reason}.`;
  }

  private showOutlook(s: AdviceViewState): void {
    const a = s.state?.advice;
    const t = s.state?.targets;
    const put = (q: Quantity, c: Column, [value, r]: [string, string], bad = false): void => {
      const cell = this.cells.get(`${q}/${c}`);
      if (!cell) return;
      text(cell.value, value);
      text(cell.range, r);
      attr(cell.cell, 'data-bad', bad);
    };
    for (const c of ['advised', 'present'] as const) {
      const p = c === 'advised' ? a?.predicted : a?.presentPredicted;
      const bad = (i: Interval | null | undefined, test: (v: number) => boolean): boolean => i != null && test(i.value);
      put('utilisation', c, range(p?.utilisation ?? null, percent), bad(p?.utilisation, (v) => t?.utilisation != null && v < t.utilisation));
      put('loss', c, range(p?.lossRate ?? null, percent), bad(p?.lossRate, (v) => t?.lossRate != null && v > t.lossRate));
      put('delay', c, range(p?.delayMs ?? null, milliseconds), bad(p?.delayMs, (v) => t?.delayMs != null && v > t.delayMs));
    }
    const o = a?.observed;
    put('utilisation', 'measured', [percent(o?.utilisation), '']);
    put('loss', 'measured', [percent(o?.lossRate), '']);
    put('delay', 'measured', [milliseconds(o?.delayMaxMs), '']);
    put('utilisation', 'target', [t?.utilisation == null ? MISSING : `≥ ${percent(t.utilisation)}`, '']);
    put('loss', 'target', [t?.lossRate == null ? MISSING : `≤ ${percent(t.lossRate)}`, '']);
    put('delay', 'target', [t?.delayMs == null ? MISSING : `≤ ${milliseconds(t.delayMs)}`, '']);
  }

  private open(): void {
    // What is applied is what the dialog showed last: it follows the advice
    // while it is open, and the controller refuses a value it no longer advises.
    let offered: AdviceState | null = null;
    this.dialog.ask({
      title: 'Apply to switch',
      words: () => {
        const s = this.current;
        offered = s?.state ?? null;
        const to = offered?.advice.advisedBytes ?? null;
        if (!s || !offered || to === null) return 'There is no advice at the moment.';
        const bytes = (b: number) => formatSize('bytes', b, s.context);
        const now = s.limit === null ? 'unlimited' : bytes(s.limit);
        const from = s.inForce ? limitText(s.inForce, bytes) : now;
        const room = s.inForce?.refusesAtBytes == null ? null : this.room(s);
        const limit = room === null ? '' : `, with a limit of ${bytes(room.limitBytes)}`;
        return (
          `Node ${offered.link.node}, port ${offered.link.port}: from ${from} ` +
          `to ${bytes(to)} (${formatSize('packets', to, s.context)}, ${formatSize('ms', to, s.context)})${limit}.`
        );
      },
      more: () => (this.current ? expectations(this.current) : []),
      verb: 'Apply',
      act: async (token) => {
        text(this.outcome, '');
        if (offered?.advice.advisedBytes == null) throw new Error('There is no advice at the moment.');
        text(this.outcome, await this.actions.apply(offered, token));
      },
    });
  }

  private askTargets(t: NewTargets): void {
    const link = this.current?.state?.link;
    if (!link) return;
    const loss = t.lossRate === null ? 'no bound on loss' : `loss at most ${percent(t.lossRate)}`;
    const delay = t.delayMs === null ? 'no bound on delay' : `delay at most ${milliseconds(t.delayMs)}`;
    this.dialog.ask({
      title: 'Set targets',
      words: () => `Node ${link.node}, port ${link.port}: utilisation at least ${percent(t.utilisation)}, ${loss}, ${delay}.`,
      verb: 'Set',
      act: async (token) => {
        await this.actions.setTargets(t, token);
        this.targets.close();
      },
    });
  }
}

export const advicePanel: MakePanel = (actions) => {
  const view = new AdviceView(actions);
  return {
    element: view.element,
    update: (s) => view.update({ ...s, state: s.advice, inForce: s.link?.limit ?? null, mode: s.status?.mode ?? '', watching: s.link?.watching ?? '', finished: s.status?.finished != null }),
  };
};
