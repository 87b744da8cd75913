// SPDX-License-Identifier: Apache-2.0
// The buffers of the rules as a file; on the page they are a list.

import { type Standing, standing } from '../model/rules';
import type { Rule } from '../model/types';
import { SvgPen } from './pen';
import type { Picture } from './picture';
import { ticks } from './scale';
import { ink } from './theme';

const NAME_WIDTH = 190;
const WIDTH = 640;
const ROW = 22;
const TOP = 34;
/** Half of the height of a bar. */
const HALF = 6;

/** A bar as on the page: solid, outlined where not all is known, a dashed line where the rule is set aside. */
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

  svg(): string {
    const known = this.rules.filter((r) => r.bufferBytes !== null);
    const end = Math.max(1, this.limit ?? 0, this.advised ?? 0, ...known.map((r) => r.bufferBytes ?? 0));
    const bottom = TOP + known.length * ROW;
    const x = (bytes: number): number => NAME_WIDTH + (bytes / end) * (WIDTH - NAME_WIDTH - 20);
    const pen = new SvgPen();
    const soft = ink('ink-soft');
    known.forEach((r, i) => {
      const y = TOP + i * ROW + ROW / 2;
      pen.text(NAME_WIDTH - 8, y + 4, r.name, 'end', ink('ink'));
      bar(pen, standing(r), x(0), x(r.bufferBytes ?? 0), y);
    });
    for (const [bytes, colour, name] of [[this.limit, 'limit', 'limit'], [this.advised, 'advised', 'advised']] as const) {
      if (bytes === null) continue;
      pen.segments([x(bytes), TOP - 4, x(bytes), bottom], { colour: ink(colour), width: 2, dash: name === 'limit' ? [7, 4] : [] });
      pen.text(x(bytes), name === 'limit' ? 26 : 12, name, 'middle', ink(colour));
    }
    for (const t of ticks(0, end / 1000, 5)) pen.text(x(t * 1000), bottom + 16, String(t), 'middle', soft);
    pen.text((NAME_WIDTH + WIDTH) / 2, bottom + 34, 'buffer, kB; solid: assumptions hold, outlined: not all known, dashed: set aside', 'middle', soft);
    return pen.file(this.name, WIDTH, bottom + 44);
  }
}
