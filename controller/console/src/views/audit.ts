// SPDX-License-Identifier: Apache-2.0
// What was set, refused or rolled back, and why.

import { attr, h, keyed, prose, text } from '../dom';
import { MISSING } from '../format/units';
import type { AuditEntry } from '../model/types';
import type { MakePanel } from './panel';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** Of a reason as much as a line takes; longer ones are there on demand. */
const SHORT = 90;

/** The first sentence of a reason, and all of it where that is not all. */
export function brief(why: string): [string, string] {
  const end = why.search(/[.;:](\s|$)/);
  const first = end < 0 ? why : why.slice(0, end + (why[end] === '.' ? 1 : 0));
  const short = first.length > SHORT ? `${first.slice(0, SHORT).replace(/\s\S*$/, '')} …` : first;
  return short.replace(/\.$/, '') === why.replace(/\.$/, '') ? [why, ''] : [short, why];
}

export class Audit {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly warnings = h('div', { class: 'warnings', role: 'alert' });
  private readonly empty = h('p', { class: 'empty' });
  private readonly table: HTMLElement;

  constructor() {
    const head = ['Time', 'Port', 'Limit', 'By', 'Outcome', 'Reason'].map((t) => h('th', { scope: 'col' }, t));
    this.table = h('div', { class: 'scroll', hidden: true, tabindex: 0, role: 'region', 'aria-label': 'Table of changes' }, h('table', { class: 'audit-table' }, h('thead', {}, h('tr', {}, ...head)), this.body));
    this.element = h(
      'section',
      { class: 'audit', 'aria-labelledby': 'audit-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'audit-title' }, 'Changes')),
      this.warnings,
      this.empty,
      this.table,
    );
  }

  update(entries: readonly AuditEntry[], warnings: readonly string[], finished: boolean): void {
    text(this.empty, finished ? 'The run has no log of limit changes.' : 'No limit has been changed since the controller started.');
    keyed(
      this.warnings,
      warnings,
      (w) => w,
      () => h('p', { class: 'warning' }),
      (p, w) => prose(p, w),
    );
    attr(this.empty, 'hidden', entries.length > 0);
    attr(this.table, 'hidden', entries.length === 0);
    keyed(
      this.body,
      entries,
      (e) => e.id,
      () => h('tr', {}, ...[0, 1, 2, 3, 4].map(() => h('td')), h('td', {}, h('details', { class: 'reason' }, h('summary'), h('p')))),
      (tr, e) => {
        const cells = Array.from(tr.children);
        const values = [e.unixMs === null ? MISSING : clock.format(e.unixMs), e.link, e.what, e.origin, e.outcome];
        values.forEach((v, i) => {
          const c = cells[i];
          if (c) prose(c, v);
        });
        const details = cells[5]?.firstElementChild;
        const [short, rest] = brief(e.why);
        const [summary, more] = Array.from(details?.children ?? []);
        if (summary) prose(summary, short);
        if (more) prose(more, rest);
        if (details) attr(details, 'data-whole', rest === '');
        attr(tr, 'data-ok', e.ok === null ? null : e.ok ? 'yes' : 'no');
      },
    );
  }
}

export const auditPanel: MakePanel = () => {
  const view = new Audit();
  return { element: view.element, update: (s) => view.update(s.changes, s.status?.warnings ?? [], s.status?.finished != null) };
};
