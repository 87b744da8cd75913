// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { everyPage, everyPart } from '../build/docs';
import { anchor, entries, GLOSSARY, read } from '../build/glossary';
import { body, escaped, page, slug } from '../build/page';
import { library, sections, words } from '../build/sections';
import { pictureSize } from '../build/size';
import { type Item, sideBar, summary } from '../build/summary';
import { searcher } from '../src/docs/library';

const ENTRIES = entries('| term | meaning |\n|---|---|\n| N_b | Flows here |\n| ρ̂, γ | Wanted |\n| Δ | Fairness `x` |\n| δ | Probability |\n| s | Excess |\n');
const made = (at: string, markdown: string) => body(at, markdown, ENTRIES, (p) => (p === 'images/there.png' ? { width: 20, height: 10 } : null));

describe('a page', () => {
  it('leads to other pages and sections', () => {
    const b = made('reference/console.md', '# The `console`\n\n[api](api.md), [why](../explanation/control.md#the-loop), [code](../../controller), [here](#the-console)');
    expect(b.html).toContain('<a href="api.html">api</a>');
    expect(b.html).toContain('<a href="../explanation/control.html#the-loop">why</a>');
    expect(b.html).toContain('<a href="#the-console">here</a>');
    // A file that is not served is not linked.
    expect(b.html).toContain(', code,');
    expect(b.links).toContainEqual({ page: 'explanation/control.md', id: 'the-loop' });
    const whole = page('reference/console.md', b, '<ul></ul>', { script: 'assets/docs.js', styles: ['assets/a.css'] });
    expect(whole).toContain('src="../../assets/docs.js"');
    expect(whole).toContain('href="../../assets/a.css"');
    expect(whole).toContain('<title>The console · Tidemark</title>');
  });

  it('has no markup but its own', () => {
    const { html } = made('x.md', '# X\n\n<!-- <begin generated: x> -->\n\nN<sub>b</sub> <script>alert(1)</script> [a](javascript:alert(1))');
    expect(html).toContain('N<sub>b</sub>');
    expect(html).not.toContain('<script');
    expect(html).not.toContain('javascript:');
    expect(html).not.toContain('generated');
  });

  it('shows its pictures, and says which are not there', () => {
    const b = made('how-to/x.md', '![a & b](../images/there.png) ![gone](../images/gone.png) ![out](../../README.png)');
    expect(b.html).toContain('<a class="picture" href="../images/there.png"><img src="../images/there.png" alt="a &#38; b" width="20" height="10" loading="lazy"></a>');
    expect(b.pictures).toEqual(['images/there.png']);
    expect(b.missing).toEqual(['../images/gone.png', '../../README.png']);
  });

  it('can be scrolled by the keyboard, and heads no column with nothing', () => {
    const { html } = made('x.md', '# X\n\n| | a |\n| --- | --: |\n| b | 1 |\n\n```\ncode\n```');
    expect(html).toContain('<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>');
    expect(html).toContain('<td></td>\n<th align="right">a</th>');
    expect(html).toContain('<pre tabindex="0"><code>code');
  });

  it('names headings as the repository does, each once', () => {
    expect(slug('Can the numbers be trusted?')).toBe('can-the-numbers-be-trusted');
    expect(slug('What `lasts`')).toBe('what-lasts');
    expect(made('x.md', '# X\n\n## A\n\n## A\n\n## B').ids).toEqual(['x', 'a', 'a-1', 'b']);
  });

  it('leads from symbols to the glossary, once below each heading', () => {
    const { html } = made('how-to/x.md', '# N_b\n\nN\\_b and N_b of s, `N_b`, [N_b](y.md), Δ\n\n## More\n\nN_b');
    const link = '<a class="term" href="../reference/glossary.html#N_b" title="Flows here"><var>N<sub>b</sub></var></a>';
    expect(html.split(link)).toHaveLength(3);
    expect(html).toContain('<h1 id="n_b"><var>N<sub>b</sub></var></h1>');
    expect(html).toContain(`${link} and <var>N<sub>b</sub></var> of s, <code>N_b</code>, <a href="y.html"><var>N<sub>b</sub></var></a>`);
    expect(html).toContain('href="../reference/glossary.html#%CE%94" title="Fairness x">Δ</a>');
  });
});

describe('the glossary', () => {
  it('has an anchor for every line, and capitals are not small letters', () => {
    const at = made(GLOSSARY, '# G\n\n| term | meaning |\n|---|---|\n| Δ | N_b |\n| δ | b |\n| dead band | c |');
    expect(at.ids).toEqual(['g', 'Δ', 'δ', 'dead-band']);
    expect(at.html).toContain('<td id="Δ">Δ</td>');
    // It does not link to itself.
    expect(at.html).not.toContain('class="term"');
    expect(anchor('ρ̂, γ')).toBe('ρ̂');
  });

  it('says everything once, with a meaning', () => {
    const table = (rows: string) => `| term | meaning |\n|---|---|\n${rows}\n`;
    expect(() => entries(table('| a | x |\n| b, a | y |'))).toThrow('a stands twice');
    expect(() => entries(table('| a |  |'))).toThrow('without a term or its meaning');
    const names = read().flatMap((e) => e.names);
    for (const n of ['N_b', 'α', 'Δ', 'T_e', 'C_e', 'BDP', 'LBP', 'RBP', 'WL', 'occupancy', 'limit', 'regime', 'verdict']) expect(names).toContain(n);
  });
});

describe('the side bar', () => {
  const parts = summary('# Summary\n\n[Start](README.md)\n\n# Records\n\n- [Decisions](decisions/README.md)\n  - [`A`](decisions/a.md)\n');

  it('is the summary, in parts', () => {
    expect(parts.map((p) => [p.title, p.items.map((i) => i.at)])).toEqual([
      ['', ['README.md']],
      ['Records', ['decisions/README.md']],
    ]);
    expect(parts[1]?.items[0]?.children).toEqual([{ title: 'A', at: 'decisions/a.md', children: [] }]);
    expect(() => summary('# S\n\nwords')).toThrow('neither a page nor a part: words');
    expect(() => summary('# S\n\n  - [a](a.md)')).toThrow('below no page');
  });

  it('shows where one is, what the page has, and opens the list one reads in', () => {
    const html = sideBar(parts, 'decisions/a.md', [{ id: 'x', html: 'X' }, { id: 'y', html: 'Y' }], escaped);
    expect(html).toContain('<a href="../README.html">Start</a>');
    expect(html).toContain('<details open><summary>All 1</summary>');
    expect(html).toContain('<a href="a.html" aria-current="page">A</a><ul><li><a href="#x">X</a></li><li><a href="#y">Y</a></li></ul>');
    expect(sideBar(parts, 'README.md', [], escaped)).toContain('<details><summary>');
  });
});

describe('the search', () => {
  it('has every section as plain words', () => {
    const b = made('x.md', '# X\n\nFirst `a<b`\n\n## Of N_b\n\nSecond of N_b');
    expect(sections('x.md', b)).toEqual([
      ['x', 'X', 'First a<b'],
      ['of-n_b', 'Of N_b', 'Second of N_b'],
    ]);
    expect(words('<p>a &amp;lt; &#60;b</p>')).toBe('a &lt; <b');
  });

  it('finds sections that have all words or their beginnings, the glossary first', () => {
    const make = (at: string, markdown: string) => ({ at, body: made(at, markdown) });
    const pages = [
      make('benchmarks/a.md', '# Old\n\nrollback of the limit_bytes'),
      make('how-to/b.md', '# Now\n\nrollback, with a tail of words that is long enough to be cut before the limit_bytes that is looked for, and many more words behind it, of which the excerpt has some, until it has to end somewhere among them, before the text does'),
      make(GLOSSARY, '# Glossary\n\n| term | meaning | c |\n|---|---|---|\n| rollback | the limit before | `limit_bytes` |'),
    ];
    const find = searcher(library(pages));
    expect(find('rollb limit_bytes').map((h) => h.href)).toEqual(['reference/glossary.html#rollback', 'how-to/b.html#now', 'benchmarks/a.html#old']);
    expect(find('rollbak').length).toBe(3);
    expect(find('rollback nowhere')).toEqual([]);
    expect(find('limit_bytes tail')[0]).toMatchObject({ title: 'Now', found: ['limit_bytes', 'tail'] });
    expect(find('looked')[0]?.excerpt).toMatch(/^… .*looked for.* …$/);
  });
});

describe('pictures', () => {
  it('have a size', () => {
    const png = Buffer.alloc(24);
    png.write('\x89PNG', 0, 'latin1');
    png.writeUInt32BE(640, 16);
    png.writeUInt32BE(480, 20);
    expect(pictureSize('a.png', png)).toEqual({ width: 640, height: 480 });
    expect(pictureSize('a.svg', Buffer.from('<svg viewBox="0 0 12.4 7"></svg>'))).toEqual({ width: 12, height: 7 });
    expect(() => pictureSize('a.png', Buffer.from('not one'))).toThrow('docs/a.png');
  });
});

describe('the documentation', () => {
  const pages = everyPage();
  const byPath = new Map(pages.map((p) => [p.at, p.body]));

  it('leads nowhere that is not there, anchors included', () => {
    const broken = pages.flatMap(({ at, body: b }) =>
      b.links.filter(({ page: to, id }) => !byPath.has(to) || (id !== '' && !byPath.get(to)?.ids.includes(decodeURIComponent(id)))).map(({ page: to, id }) => `${at}: ${to}#${id}`),
    );
    expect(broken).toEqual([]);
    expect(pages.flatMap((p) => p.body.links).length).toBeGreaterThan(200);
  });

  it('has all its pictures', () => {
    expect(pages.flatMap(({ at, body: b }) => b.missing.map((m) => `${at}: ${m}`))).toEqual([]);
    expect(pages.flatMap((p) => p.body.pictures).length).toBeGreaterThan(40);
  });

  it('has every page in the side bar, once', () => {
    const all = (items: readonly Item[]): string[] => items.flatMap((i) => [i.at, ...all(i.children)]);
    expect(everyPart().flatMap((p) => all(p.items)).sort()).toEqual(pages.map((p) => p.at).sort());
  });

  it('leads to lines that the glossary has', () => {
    const ids = byPath.get(GLOSSARY)?.ids ?? [];
    const asked = pages.flatMap((p) => [...p.body.html.matchAll(/glossary\.html#([^"]+)"/g)].map((m) => decodeURIComponent(m[1] ?? '')));
    expect(asked.length).toBeGreaterThan(100);
    expect(asked.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('is found by its words', () => {
    const find = searcher(library(pages));
    expect(find('N_b')[0]?.href).toBe('reference/glossary.html#N_b');
    expect(find('wireshark dissector').map((h) => h.href).join(' ')).toContain('reference/reports.html');
    expect(find('rollback_hold_s').length).toBeGreaterThan(0);
  });
});
