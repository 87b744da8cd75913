// SPDX-License-Identifier: Apache-2.0
// Every panel with its place on the page, in the order of the page.

import { advicePanel } from './advice';
import { auditPanel } from './audit';
import { estimatesPanel } from './estimates';
import { flowsPanel } from './flows';
import { headerPanel } from './header';
import { healthPanel } from './health';
import { outlookPanel } from './outlook';
import { overviewPanel } from './overview';
import type { MakePanel } from './panel';
import { phasesPanel } from './phases';
import { recorderPanel } from './recorder';
import { rulesPanel } from './rules';

/** `top` spans the page; `left` and `right` are side by side within `main`. */
export type Place = 'top' | 'main' | 'left' | 'right';

export const PANELS: readonly [Place, MakePanel][] = [
  ['top', headerPanel],
  ['top', healthPanel],
  ['main', overviewPanel],
  ['main', recorderPanel],
  ['main', phasesPanel],
  ['main', estimatesPanel],
  ['left', rulesPanel],
  ['right', advicePanel],
  ['right', outlookPanel],
  ['main', flowsPanel],
  ['main', auditPanel],
];
