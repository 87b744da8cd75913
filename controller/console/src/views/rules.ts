// SPDX-License-Identifier: Apache-2.0
// The rules next to one another: the buffer that each asks for, as bars on one scale, with the
// limit in force and the advised one drawn through all of them.

import { ticks } from '../charts/scale';
import { attr, h, keyed, prose, text, variable } from '../dom';
import { formula } from '../format/typeset';
import { axisUnit, formatSize, MISSING, significant, sizeIn } from '../format/units';
import { ordered, type Standing, scaleEnd, standing, whyNot } from '../model/rules';
import type { Rule } from '../model/types';
import { RulesPicture } from '../charts/rules';
import type { Panel, Snapshot } from './panel';
import { section } from './parts';
import { saveMenu } from './save';
import { docs, linked } from './terms';

/** Text after the name of a rule, for readers who cannot see its bar. */
const VERDICTS: Record<Standing, string> = {
  holds: ', its assumptions hold,',
  unknown: ', not all of its assumptions are known,',
  compared: ', for comparison,',
  fails: ', does not apply,',
};

/** Looks of the bars. */
const LOOKS: readonly [Standing, string][] = [
  ['holds', 'assumptions hold'],
  ['unknown', 'not all known'],
  ['fails', 'set aside'],
];

const rows = new WeakMap<Element, ReturnType<typeof partsOfRow>>();

function partsOfRow() {
  return {
    name: h('span', { class: 'rule-name' }),
    bar: h('span', { class: 'rule-bar' }),
    value: h('span', { class: 'rule-value' }),
    why: h('span', { class: 'soft rule-why' }),
    formula: h('p', { class: 'rule-formula' }),
    source: h('p', { class: 'soft' }),
    inputs: h('p', { class: 'soft' }),
    assumptions: h('ul', { class: 'rule-assumptions' }),
    verdict: h('span', { class: 'visually-hidden' }),
  };
}

function createRow(): HTMLElement {
  const r = partsOfRow();
  const e = h(
    'details',
    { class: 'rule' },
    h('summary', {}, r.name, r.verdict, h('span', { class: 'rule-track', 'aria-hidden': 'true' }, r.bar), r.value, r.why),
    h('div', { class: 'small rule-more' }, r.formula, r.inputs, r.assumptions, r.source),
  );
  rows.set(e, r);
  return e;
}

function mark(holds: boolean | null): string {
  return holds === null ? 'not known: ' : holds ? 'holds: ' : 'fails: ';
}

export class Rules implements Panel {
  readonly element: HTMLElement;
  private readonly list = h('div', { class: 'rules-list' });
  private readonly axis = h('div', { class: 'rules-axis', 'aria-hidden': 'true' });
  private readonly limitMark = h('span', { class: 'rules-mark limit', 'aria-hidden': 'true' }, h('i', {}, 'limit'));
  private readonly advisedMark = h('span', { class: 'rules-mark advised', 'aria-hidden': 'true' }, h('i', {}, 'advised'));
  private readonly empty = h('p', { class: 'empty' }, 'The rules appear when the first estimate is there.');
  private readonly unit = h('span', { class: 'soft' });
  private readonly picture = new RulesPicture();

  constructor() {
    const looks = LOOKS.map(([look, words]) => h('li', { class: 'row', 'data-standing': look }, h('span', { class: 'rule-bar', 'aria-hidden': 'true' }), words));
    this.element = section(
      'rules',
      'Buffer by rule',
      [docs('reference/rules.html', '?', 'Every rule with its formula and paper'), this.unit, saveMenu(this.picture)],
      this.empty,
      h('ul', { class: 'row wrap soft small rules-looks', 'aria-label': 'Bars' }, ...looks),
      h('div', { class: 'rules-stage' }, h('div', { class: 'rules-marks' }, this.limitMark, this.advisedMark), this.list, this.axis),
    );
  }

  update(s: Snapshot): void {
    const rules = ordered(s.rules);
    this.picture.set(rules, s.limit, s.advised);
    attr(this.empty, 'hidden', rules.length > 0);
    attr(this.element, 'data-empty', rules.length === 0);
    const end = scaleEnd(rules, [s.limit, s.advised]);
    keyed(this.list, rules, (r) => r.id, createRow, (e, r) => this.showRow(e, r, end, s));
    this.place(this.limitMark, s.limit, end);
    this.place(this.advisedMark, s.advised, end);
    // If two names overlap, one moves up.
    const close = s.limit !== null && s.advised !== null && Math.abs(s.limit - s.advised) / end < 0.2;
    attr(this.advisedMark, 'data-raised', close);
    const full = sizeIn(s.unit, end, s.context) ?? 0;
    const shown = full > 0 ? ticks(0, full, 4) : [];
    keyed(
      this.axis,
      shown,
      (t) => String(t),
      () => h('span'),
      (e, t) => {
        variable(e, '--at', `${((t / full) * 100).toFixed(3)}%`);
        text(e, significant(s.unit === 'bytes' ? t / 1000 : t));
      },
    );
    text(this.unit, s.unit === 'packets' ? `packets of ${Math.round(s.context.packetBytes)} B` : axisUnit(s.unit));
  }

  private showRow(e: Element, r: Rule, end: number, s: Snapshot): void {
    const v = rows.get(e);
    if (!v) return;
    const stands = standing(r);
    attr(e, 'data-standing', stands);
    attr(e, 'data-deciding', r.id !== '' && r.id === s.advice?.advice.rule);
    prose(v.name, r.name);
    text(v.verdict, VERDICTS[stands]);
    const share = r.bufferBytes === null ? 0 : r.bufferBytes / end;
    variable(v.bar, '--share', Math.min(1, Math.max(0, share)).toFixed(5));
    attr(v.bar, 'data-cut', share > 1);
    text(v.value, r.bufferBytes === null ? MISSING : formatSize(s.unit, r.bufferBytes, s.context));
    prose(v.why, whyNot(r));
    prose(v.formula, formula(r.formula));
    linked(v.source, r.source);
    linked(v.inputs, r.inputs.map((i) => `${formula(i.name)} = ${significant(i.value, 4)}${i.unit ? ` ${i.unit}` : ''}`).join(', '));
    keyed(
      v.assumptions,
      r.assumptions.map((a, i) => ({ ...a, i })),
      (a) => String(a.i),
      () => h('li'),
      (li, a) => {
        attr(li, 'data-holds', a.holds === null ? 'unknown' : a.holds ? 'yes' : 'no');
        linked(li, `${mark(a.holds)}${a.text}`);
      },
    );
  }

  private place(e: HTMLElement, bytes: number | null, end: number): void {
    attr(e, 'hidden', bytes === null);
    if (bytes !== null) variable(e, '--share', Math.min(1, bytes / end).toFixed(5));
  }
}
