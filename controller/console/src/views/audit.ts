// SPDX-License-Identifier: Apache-2.0
// Limits that were set, refused or rolled back, and why.

import { attr, h, keyed, prose, text } from '../dom';
import { MISSING } from '../format/units';
import type { Panel, Snapshot } from './panel';
import { heading, section, table } from './parts';

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** Maximum length of a reason in a line; longer ones are shown in full on demand. */
const SHORT = 90;

/** Returns the first sentence of a reason, and all of it if there is more. */
export function brief(why: string): [string, string] {
  const end = why.search(/[.;:](\s|$)/);
  const first = end < 0 ? why : why.slice(0, end + (why[end] === '.' ? 1 : 0));
  const short = first.length > SHORT ? `${first.slice(0, SHORT).replace(/\s\S*$/, '')} …` : first;
  return short.replace(/\.$/, '') === why.replace(/\.$/, '') ? [why, ''] : [short, why];
}

export class Audit implements Panel {
  readonly element: HTMLElement;
  private readonly body = h('tbody');
  private readonly warnings = h('div', { class: 'warnings', role: 'alert' });
  private readonly empty = h('p', { class: 'empty' });
  private readonly table: HTMLElement;

  constructor() {
    const head = ['Time', 'Port', 'Limit', 'By', 'Outcome', 'Reason'].map((t) => heading(t));
    this.table = table('Table of changes', 'audit', head, this.body);
    this.element = section('audit', 'Changes', [], this.warnings, this.empty, this.table);
  }

  update({ changes: entries, status, finished }: Snapshot): void {
    text(this.empty, finished ? 'The run has no log of limit changes.' : 'No limit has been changed since the controller started.');
    keyed(
      this.warnings,
      status?.warnings ?? [],
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
