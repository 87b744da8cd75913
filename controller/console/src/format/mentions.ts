// SPDX-License-Identifier: Apache-2.0
// Finds the symbols that a text names, so that each can link to the glossary.

export interface Part {
  text: string;
  /** Its name in the glossary; empty for text between symbols. */
  name: string;
}

/** Whether a name is found in running text: N_b, Δ and LBP are, words and single letters (s, C) are not. */
export function symbolic(name: string): boolean {
  return /[^\p{Ll}\p{N} ]/u.test(name) && /[^A-Za-z]|../u.test(name);
}

/** Creates a function that finds names in texts; the longer of two wins. */
export function finder(names: readonly string[]): (text: string) => Part[] {
  const some = [...names].sort((a, b) => b.length - a.length).map((n) => n.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (some.length === 0) return (text) => (text ? [{ text, name: '' }] : []);
  const pattern = new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])(?:${some.join('|')})(?![\\p{L}\\p{M}\\p{N}_])`, 'gu');
  return (text) => {
    const out: Part[] = [];
    let at = 0;
    for (const m of text.matchAll(pattern)) {
      if (m.index > at) out.push({ text: text.slice(at, m.index), name: '' });
      out.push({ text: m[0], name: m[0] });
      at = m.index + m[0].length;
    }
    if (at < text.length) out.push({ text: text.slice(at), name: '' });
    return out;
  };
}
