// SPDX-License-Identifier: Apache-2.0
// Puts panels into their places.

import { h } from './dom';
import type { Actions, Panel } from './views/panel';
import { PANELS } from './views/panels';

/** Makes every panel and appends it to the page. */
export function layOut(root: HTMLElement, actions: Actions): Panel[] {
  const main = h('main');
  const right = h('div', { class: 'stack' });
  const sizing = h('div', { class: 'sizing' });
  const panels: Panel[] = [];
  for (const [place, make] of PANELS) {
    const panel = make(actions);
    panels.push(panel);
    if (place === 'top') root.append(panel.element);
    else if (place === 'main') main.append(panel.element);
    else {
      // The first panel of the pair puts the pair where it is itself.
      if (!sizing.parentElement) main.append(sizing);
      if (place === 'left') sizing.append(panel.element);
      else {
        if (!right.parentElement) sizing.append(right);
        right.append(panel.element);
      }
    }
  }
  root.append(main);
  return panels;
}
