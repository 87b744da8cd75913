// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { page, slug } from '../build/docs';

describe('the documentation', () => {
  it('leads to its own pages and sections', () => {
    const html = page('reference/console.md', '# The console\n\n[api](api.md), [why](../explanation/control.md#the-loop), [code](../../controller)');
    expect(html).toContain('<a href="api.html">api</a>');
    expect(html).toContain('<a href="../explanation/control.html#the-loop">why</a>');
    // What is not served is not linked.
    expect(html).toContain(', code</p>');
    expect(html).toContain('href="../../docs.css"');
    expect(html).toContain('<title>The console · Tidemark</title>');
  });

  it('has no markup but its own', () => {
    const html = page('x.md', '# X\n\nN<sub>b</sub> <script>alert(1)</script> [a](javascript:alert(1)) ![figure](f.png)');
    expect(html).toContain('N<sub>b</sub>');
    expect(html).not.toContain('<script');
    expect(html).not.toContain('javascript:');
    expect(html).not.toContain('<img');
  });

  it('can be scrolled by the keyboard, and heads no column with nothing', () => {
    const html = page('x.md', '# X\n\n| | a |\n| --- | --: |\n| b | 1 |\n\n```\ncode\n```');
    expect(html).toContain('<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>');
    expect(html).toContain('<td></td>\n<th align="right">a</th>');
    expect(html).toContain('<pre tabindex="0"><code>code');
  });

  it('names headings as the repository does', () => {
    expect(slug('Can the numbers be trusted?')).toBe('can-the-numbers-be-trusted');
    expect(slug('What `lasts`')).toBe('what-lasts');
  });
});
