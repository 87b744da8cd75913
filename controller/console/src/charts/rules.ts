// SPDX-License-Identifier: Apache-2.0
// The buffers of the rules as a file; on the page they are a list.

import type { Rule } from '../model/types';
import { SvgPen } from './pen';
import type { Picture } from './picture';
import { ticks } from './scale';
import { ink } from './theme';

const NAME_WIDTH = 190;
const WIDTH = 640;
const ROW = 22;
const TOP = 34;

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
    const rows = this.rules.map((r) => [r.id, quoted(r.name), r.bufferBytes ?? '', r.applies, quoted(r.source), quoted(r.formula)].join(','));
    return `${['id,name,buffer_bytes,applies,source,formula', ...rows].join('\n')}\n`;
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
      const stroke = { colour: ink('water'), width: r.applies ? 12 : 1.5, dash: r.applies ? [] : [4, 3] };
      pen.segments([x(0), y, x(r.bufferBytes ?? 0), y], stroke);
    });
    for (const [bytes, colour, name] of [[this.limit, 'limit', 'limit'], [this.advised, 'advised', 'advised']] as const) {
      if (bytes === null) continue;
      pen.segments([x(bytes), TOP - 4, x(bytes), bottom], { colour: ink(colour), width: 2, dash: name === 'limit' ? [7, 4] : [] });
      pen.text(x(bytes), name === 'limit' ? 26 : 12, name, 'middle', ink(colour));
    }
    for (const t of ticks(0, end / 1000, 5)) pen.text(x(t * 1000), bottom + 16, String(t), 'middle', soft);
    pen.text((NAME_WIDTH + WIDTH) / 2, bottom + 34, 'buffer, kB; dashed: an assumption does not hold', 'middle', soft);
    const height = bottom + 44;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="IBM Plex Sans, system-ui, sans-serif" font-size="12">` +
      `<title>${this.name}</title><rect width="100%" height="100%" fill="${ink('sheet')}"/>${pen.parts.join('')}</svg>\n`
    );
  }
}
