// SPDX-License-Identifier: Apache-2.0
// Places every panel on the page.

import { attr, h } from './dom';
import { AdviceView } from './views/advice';
import { Audit } from './views/audit';
import { Estimates } from './views/estimates';
import { Flows } from './views/flows';
import { Header } from './views/header';
import { Health } from './views/health';
import { Overview } from './views/overview';
import type { Actions, Panel } from './views/panel';
import { Phases } from './views/phases';
import { Recorder } from './views/recorder';
import { Rules } from './views/rules';
import { Start } from './views/start';
import { VerdictView } from './views/verdict';

/** Creates every panel and appends it to the page. */
export function layOut(root: HTMLElement, actions: Actions): Panel[] {
  const panels: Panel[] = [];
  const put = (Kind: new (actions: Actions) => Panel): HTMLElement => {
    const panel = new Kind(actions);
    panels.push(panel);
    return panel.element;
  };
  // On the page first: its text loads the font that the charts draw with.
  root.append(put(Header), put(Health), put(VerdictView));
  // Without a port there is nothing to draw.
  panels.push({ element: root, update: (s) => attr(root, 'data-empty', s.link === null) });
  const charts = [put(Start), put(Overview), put(Recorder), put(Phases), put(Estimates)];
  const sizing = h('div', { class: 'sizing' }, put(Rules), put(AdviceView));
  root.append(h('main', {}, ...charts, sizing, put(Flows), put(Audit)));
  return panels;
}
