// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { SvgPen } from './pen';

describe('SvgPen', () => {
  it('lifts the pen where nothing was measured', () => {
    const p = new SvgPen();
    p.line([0, 1, 2, 3], [5, 6, null, 8], { colour: 'red', width: 1 });
    expect(p.parts[0]).toContain('d="M0 5L1 6M3 8"');
  });

  it('draws nothing of nothing', () => {
    const p = new SvgPen();
    p.segments([], { colour: 'red', width: 1 });
    p.dots([], 2, 'red');
    expect(p.parts).toEqual([]);
  });

  it('lets no text become markup', () => {
    const p = new SvgPen();
    p.text(0, 0, '<script>&"', 'start', 'red');
    expect(p.parts[0]).toContain('&lt;script&gt;&amp;&quot;</text>');
  });
});
