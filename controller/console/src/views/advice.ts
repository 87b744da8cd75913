// SPDX-License-Identifier: Apache-2.0
// The advised limit, its expected effect, and the button that sets it.

import { attr, h, keyed, text } from '../dom';
import { formatSize, milliseconds, MISSING, percent, type SizeUnit } from '../format/units';
import { limitText, linkKey, marks } from '../model/links';
import type { AdviceState, Interval, Marking } from '../model/types';
import { ConfirmDialog } from './confirm';
import type { Actions, NewTargets, Panel, Snapshot } from './panel';
import { coded, section } from './parts';
import { TargetsForm } from './targets';
import { docs, linked } from './terms';

interface Quantity {
  name: string;
  /** The side of the target on which the value should be. */
  sign: '≥' | '≤';
  format: (v: number | null | undefined) => string;
  predicted: (p: AdviceState['advice']['predicted']) => Interval | null | undefined;
  measured: (o: AdviceState['advice']['observed']) => number | null | undefined;
  target: (t: AdviceState['targets'] | undefined) => number | null | undefined;
}

const QUANTITIES: readonly Quantity[] = [
  { name: 'Utilisation', sign: '≥', format: percent, predicted: (p) => p?.utilisation, measured: (o) => o?.utilisation, target: (t) => t?.utilisation },
  { name: 'Loss', sign: '≤', format: percent, predicted: (p) => p?.lossRate, measured: (o) => o?.lossRate, target: (t) => t?.lossRate },
  { name: 'Largest delay', sign: '≤', format: milliseconds, predicted: (p) => p?.delayMs, measured: (o) => o?.delayMaxMs, target: (t) => t?.delayMs },
];
const COLUMNS = { advised: 'predicted, advised', present: 'predicted, now', measured: 'measured', target: 'target' } as const;
type Column = keyof typeof COLUMNS;
const NAMES = Object.keys(COLUMNS) as Column[];

/** Formats the uncertainty of a value; empty if it is too small to show. */
function range(i: Interval, f: (v: number) => string): string {
  return f(i.low) === f(i.high) ? '' : `${f(i.low)} to ${f(i.high)}`;
}

/** Describes the expected effect of the advised limit, and how it will be watched. */
function expectations(state: AdviceState | null | undefined): string[] {
  if (!state) return [];
  const lines = QUANTITIES.flatMap(({ name, sign, format, predicted, measured, target }) => {
    const expected = predicted(state.advice.predicted);
    if (!expected) return [];
    const spread = range(expected, format);
    const goal = target(state.targets);
    const words = `${format(expected.value)}${spread ? ` (${spread})` : ''} expected, ${format(measured(state.advice.observed))} measured now`;
    return [`${name}: ${words}${goal == null ? '' : `, target ${sign} ${format(goal)}`}.`];
  });
  return [
    ...lines,
    'The controller reads the limit back, then measures its effect; the verdict stands under Changes. Where it is worse than before, a controller in mode auto takes it back, and one in mode confirm says so.',
  ];
}

export class AdviceView implements Panel {
  readonly element: HTMLElement;
  private readonly size = h('b', { class: 'advised-size' }, MISSING);
  private readonly other = h('span', { class: 'soft' });
  private readonly marking = h('p', { class: 'soft kept', hidden: true });
  private readonly cells = new Map<string, { value: Element; range: Element; cell: Element }>();
  private readonly reasons = h('ol', { class: 'reasons' });
  private readonly warning = h('p', { class: 'warning', hidden: true });
  private readonly button = h('button', { type: 'button', class: 'primary', 'aria-describedby': 'apply-why', disabled: true, onclick: () => this.open() }, 'Apply to switch');
  private readonly dialog: ConfirmDialog;
  private readonly targets = new TargetsForm((t) => this.askTargets(t));
  private readonly outcome = h('p', { class: 'outcome', role: 'status' });
  private readonly blocked = h('p', { class: 'soft small blocked', id: 'apply-why' });
  private why = '';
  private current: Snapshot | null = null;

  constructor(private readonly actions: Actions) {
    this.dialog = new ConfirmDialog(actions.token);
    const head = h('tr', {}, h('td', {}), ...NAMES.map((c) => h('th', { scope: 'col', class: `col-${c}` }, COLUMNS[c])));
    const body = h('tbody');
    for (const q of QUANTITIES) {
      const tr = h('tr', {}, h('th', { scope: 'row' }, q.name.toLowerCase()));
      for (const c of NAMES) {
        const value = h('span', {}, MISSING);
        const range = h('small');
        const cell = h('td', { class: `col-${c}` }, value, range);
        this.cells.set(`${q.name}/${c}`, { value, range, cell });
        tr.append(cell);
      }
      body.append(tr);
    }
    this.element = section(
      'advice',
      'Advice',
      [docs('explanation/control.html', '?', 'How limits are advised, set and watched')],
      h('p', { class: 'advised-line' }, this.size, this.other),
      this.marking,
      this.warning,
      h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What is expected' }, h('table', { class: 'outlook' }, h('thead', {}, head), body)),
      h('div', { class: 'row wrap apply-row' }, this.button, this.blocked),
      this.outcome,
      h('details', { class: 'why', open: true }, h('summary', { class: 'soft' }, 'How this was reached'), this.reasons),
      this.targets.element,
      this.dialog.element,
    );
  }

  update(s: Snapshot): void {
    this.current = s;
    const state = s.advice;
    const a = state?.advice ?? null;
    const advised = s.advised;
    text(this.size, formatSize(s.unit, advised, s.context));
    const others: SizeUnit[] = (['bytes', 'packets', 'ms'] as const).filter((u) => u !== s.unit);
    text(this.other, advised === null ? 'no limit can be advised yet' : others.map((u) => formatSize(u, advised, s.context)).join(', '));
    const room = this.room(s);
    attr(this.marking, 'hidden', room === null);
    text(this.marking, room === null ? '' : this.markingWords(s, room));
    const givenUp = a?.givenUp ?? [];
    attr(this.warning, 'hidden', givenUp.length === 0);
    text(this.warning, givenUp.length > 0 ? `The targets cannot hold together: ${givenUp.join(' and ')} given up, by your priority.` : '');
    this.showOutlook(s);
    this.dialog.refresh();
    this.targets.update(s.finished ? null : (state?.targets ?? null));
    keyed(
      this.reasons,
      (a?.reasons ?? []).map((r, i) => ({ r, i })),
      (x) => String(x.i),
      () => h('li'),
      (li, x) => linked(li, x.r),
    );
    const can = state?.canApply === true && advised !== null;
    attr(this.button, 'disabled', !can);
    const why = s.link?.watching || (can ? '' : state?.whyNot || (s.status?.mode === 'recommend' ? 'The controller only recommends (control.mode).' : ''));
    if (this.why !== why) this.blocked.replaceChildren(...coded(why));
    this.why = why;
  }

  /** Returns the advised room above the threshold, if the port marks. */
  private room(s: Snapshot): Marking | null {
    return marks(s.link?.limit ?? null) ? (s.advice?.advice.marking ?? null) : null;
  }

  private markingWords(s: Snapshot, room: Marking): string {
    const limit = formatSize(s.unit, room.limitBytes, s.context);
    const now = s.link?.limit?.refusesAtBytes ?? null;
    const inForce = now === null ? 'no limit is in force above the threshold, and none is set' : `in force: ${formatSize(s.unit, now, s.context)}`;
    return `This port marks: the size above is its threshold, with a limit of ${limit} (${milliseconds(room.limitMs)}) above it (${inForce}). ${room.reason}.`;
  }

  private showOutlook(s: Snapshot): void {
    const a = s.advice?.advice;
    for (const q of QUANTITIES) {
      const put = (c: Column, value: string, range = '', bad = false): void => {
        const cell = this.cells.get(`${q.name}/${c}`);
        if (!cell) return;
        text(cell.value, value);
        text(cell.range, range);
        attr(cell.cell, 'data-bad', bad);
      };
      const goal = q.target(s.advice?.targets);
      const predicted = (c: Column, i: Interval | null | undefined): void => {
        const bad = i != null && goal != null && (q.sign === '≥' ? i.value < goal : i.value > goal);
        put(c, q.format(i?.value), i ? range(i, q.format) : '', bad);
      };
      predicted('advised', q.predicted(a?.predicted ?? null));
      predicted('present', q.predicted(a?.presentPredicted ?? null));
      put('measured', q.format(q.measured(a?.observed ?? null)));
      put('target', goal == null ? MISSING : `${q.sign} ${q.format(goal)}`);
    }
  }

  private open(): void {
    // The value applied is the one that the dialog showed last: it follows the advice while it is
    // open, and the controller refuses a value that it no longer advises.
    let offered: AdviceState | null = null;
    this.dialog.ask({
      title: 'Apply to switch',
      words: () => {
        const s = this.current;
        offered = s?.advice ?? null;
        const to = offered?.advice.advisedBytes ?? null;
        if (!s || !offered || to === null) return 'There is no advice at the moment.';
        const bytes = (b: number) => formatSize('bytes', b, s.context);
        const now = s.limit === null ? 'unlimited' : bytes(s.limit);
        const inForce = s.link?.limit;
        const from = inForce ? limitText(inForce, bytes) : now;
        const room = inForce?.refusesAtBytes == null ? null : this.room(s);
        const limit = room === null ? '' : `, with a limit of ${bytes(room.limitBytes)}`;
        return (
          `Link ${linkKey(offered.link)}: from ${from} ` +
          `to ${bytes(to)} (${formatSize('packets', to, s.context)}, ${formatSize('ms', to, s.context)})${limit}.`
        );
      },
      more: () => expectations(this.current?.advice),
      verb: 'Apply',
      act: async (token) => {
        text(this.outcome, '');
        if (offered?.advice.advisedBytes == null) throw new Error('There is no advice at the moment.');
        text(this.outcome, await this.actions.apply(offered, token));
      },
    });
  }

  private askTargets(t: NewTargets): void {
    const link = this.current?.advice?.link;
    if (!link) return;
    const loss = t.lossRate === null ? 'no bound on loss' : `loss at most ${percent(t.lossRate)}`;
    const delay = t.delayMs === null ? 'no bound on delay' : `delay at most ${milliseconds(t.delayMs)}`;
    this.dialog.ask({
      title: 'Set targets',
      words: () => `Link ${linkKey(link)}: utilisation at least ${percent(t.utilisation)}, ${loss}, ${delay}, each with a probability of ${percent(t.confidence)}.`,
      verb: 'Set',
      act: async (token) => {
        await this.actions.setTargets(t, token);
        this.targets.close();
      },
    });
  }
}
