// SPDX-License-Identifier: Apache-2.0
// What was set, refused or rolled back, and why.

import { attr, h, keyed, prose } from '../dom';
import { MISSING } from '../format/units';
import type { AuditEntry } from '../model/types';
import type { MakePanel } from './panel';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

export class Audit {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly warnings = h('div', { class: 'warnings', role: 'alert' });
  private readonly empty = h('p', { class: 'empty' }, 'No limit has been changed since the controller started.');
  private readonly table: HTMLElement;

  constructor() {
    const head = ['Time', 'Port', 'Limit', 'By', 'Outcome', 'Reason'].map((t) => h('th', { scope: 'col' }, t));
    this.table = h('div', { class: 'scroll', hidden: true }, h('table', { class: 'audit-table' }, h('thead', {}, h('tr', {}, ...head)), this.body));
    this.element = h(
      'section',
      { class: 'audit', 'aria-labelledby': 'audit-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'audit-title' }, 'Changes')),
      this.warnings,
      this.empty,
      this.table,
    );
  }

  update(entries: readonly AuditEntry[], warnings: readonly string[]): void {
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
      () => h('tr', {}, ...[0, 1, 2, 3, 4, 5].map(() => h('td'))),
      (tr, e) => {
        const cells = Array.from(tr.children);
        const values = [e.unixMs === null ? MISSING : clock.format(e.unixMs), e.link, e.what, e.origin, e.outcome, e.why];
        values.forEach((v, i) => {
          const c = cells[i];
          if (c) prose(c, v);
        });
        attr(tr, 'data-ok', e.ok === null ? null : e.ok ? 'yes' : 'no');
      },
    );
  }
}

export const auditPanel: MakePanel = () => {
  const view = new Audit();
  return { element: view.element, update: (s) => view.update(s.changes, s.status?.warnings ?? []) };
};
