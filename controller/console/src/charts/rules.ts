// SPDX-License-Identifier: Apache-2.0
// Saves the buffers of the rules as a file; on the page they are a list.

import { type Standing, scaleEnd, standing } from '../model/rules';
import type { Rule } from '../model/types';
import { bytes as formatBytes } from '../format/units';
import { DASHED, figure } from './figure';
import type { Box, SvgPen } from './pen';
import type { Picture } from './picture';
import { ticks } from './scale';
import { ink } from './theme';

const NAME_WIDTH = 250;
const ROW = 22;
const TOP = 34;
/** Height of ticks, their label and the room below. */
const BELOW = 48;
/** Half of the height of a bar. */
const HALF = 6;

/** Draws a bar as on the page: solid, outlined if not all is known, a dashed line if the rule is set aside. */
function bar(pen: SvgPen, stands: Standing, left: number, right: number, y: number): void {
  const colour = ink('water');
  if (stands === 'holds') {
    pen.segments([left, y, right, y], { colour, width: 2 * HALF });
  } else if (stands === 'unknown') {
    const [top, bottom] = [y - HALF, y + HALF];
    pen.segments([left, top, right, top, right, top, right, bottom, right, bottom, left, bottom], { colour, width: 1.75 });
  } else {
    pen.segments([left, y, right, y], { colour, width: 1.5, dash: [4, 3] });
  }
}

export class RulesPicture implements Picture {
  readonly name = 'Buffer by rule';
  private rules: readonly Rule[] = [];
  private limit: number | null = null;
  private advised: number | null = null;

  set(rules: readonly Rule[], limit: number | null, advised: number | null): void {
    this.rules = rules;
    this.limit = limit;
    this.advised = advised;
  }

  csv(): string {
    const quoted = (t: string): string => `"${t.replace(/"/g, '""')}"`;
    const rows = this.rules.map((r) => [r.id, quoted(r.name), r.bufferBytes ?? '', standing(r), quoted(r.source), quoted(r.formula)].join(','));
    return `${['id,name,buffer_bytes,assumptions,source,formula', ...rows].join('\n')}\n`;
  }

  empty(): boolean {
    return !this.rules.some((r) => r.bufferBytes !== null);
  }

  svg(): string {
    const known = this.rules.filter((r) => r.bufferBytes !== null);
    const water = ink('water');
    return figure({
      name: this.name,
      signs: [
        { words: 'assumptions hold', look: 'band', colour: water },
        { words: 'not all known (outlined)', look: 'line', colour: water },
        { words: 'set aside', look: 'dashed', colour: water },
        ...(this.limit === null ? [] : [{ words: 'limit in force', look: 'dashed', colour: ink('limit') } as const]),
        ...(this.advised === null ? [] : [{ words: 'advised', look: 'line', colour: ink('advised') } as const]),
      ],
      span: null,
      height: TOP + known.length * ROW + BELOW,
      draw: (pen, box) => this.draw(pen, box, known),
    });
  }

  private draw(pen: SvgPen, box: Box, known: readonly Rule[]): void {
    const end = scaleEnd(known, [this.limit, this.advised]);
    const [left, top] = [box.left + NAME_WIDTH, box.top + TOP];
    const bottom = top + known.length * ROW;
    const width = box.width - NAME_WIDTH - 80;
    const x = (bytes: number): number => left + (bytes / end) * width;
    const soft = ink('ink-soft');
    const at = ticks(0, end / 1000, 6);
    pen.segments(at.flatMap((t) => [x(t * 1000), top - 4, x(t * 1000), bottom]), { colour: ink('rule'), width: 1, dash: [2, 3] });
    known.forEach((r, i) => {
      const y = top + i * ROW + ROW / 2;
      pen.text(left - 8, y + 4, r.name, 'end', ink('ink'), { size: 13 });
      const bytes = r.bufferBytes ?? 0;
      bar(pen, standing(r), x(0), x(Math.min(bytes, end)), y);
      if (bytes > end) pen.text(x(end) + 3, y + 4, `› ${formatBytes(bytes)}`, 'start', soft, { size: 13 });
    });
    for (const [bytes, colour, name] of [[this.advised, 'advised', 'advised'], [this.limit, 'limit', 'limit']] as const) {
      if (bytes === null) continue;
      pen.segments([x(bytes), top - 4, x(bytes), bottom], { colour: ink(colour), width: 2, dash: name === 'limit' ? DASHED : [] });
      pen.text(x(bytes), box.top + (name === 'limit' ? 26 : 12), `${name} ${formatBytes(bytes)}`, 'middle', ink(colour), { size: 13 });
    }
    for (const t of at) pen.text(x(t * 1000), bottom + 17, String(t), 'middle', soft, { size: 13 });
    pen.text(left + width / 2, bottom + 38, 'buffer, kB', 'middle', ink('ink'), { size: 14 });
  }
}
