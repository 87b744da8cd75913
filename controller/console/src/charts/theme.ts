// SPDX-License-Identifier: Apache-2.0
// Colours of the charts, from the same custom properties as the page's.

export type Ink =
  | 'ink'
  | 'ink-soft'
  | 'rule'
  | 'rule-strong'
  | 'water'
  | 'water-band'
  | 'water-faint'
  | 'limit'
  | 'advised'
  | 'drop'
  | 'sheet'
  | 'other'
  | 'good'
  | `flow-${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8}`;

/** Returns the colour of the flow with this number; grey for flows without one. */
export function flowInk(colour: number | undefined): string {
  return ink(colour === undefined ? 'other' : (`flow-${(colour % 8) + 1}` as Ink));
}

const cache = new Map<Ink, string>();

export function ink(name: Ink): string {
  let c = cache.get(name);
  if (c === undefined) {
    c = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, c);
  }
  return c;
}

export type Theme = 'light' | 'dark';
const KEY = 'tidemark.theme';
const listeners: (() => void)[] = [];

/** Registers a function called after every change of theme; charts redraw themselves. */
export function onTheme(f: () => void): void {
  listeners.push(f);
}

export function theme(): Theme {
  return document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';
}

function show(t: Theme): void {
  document.documentElement.dataset.theme = t;
  cache.clear();
  for (const f of listeners) f();
}

/** Applies the chosen theme, or the system's if none was chosen. */
export function startTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const chosen = (): Theme | null => {
    const t = localStorage.getItem(KEY);
    return t === 'light' || t === 'dark' ? t : null;
  };
  show(chosen() ?? (system.matches ? 'dark' : 'light'));
  system.addEventListener('change', () => {
    if (!chosen()) show(system.matches ? 'dark' : 'light');
  });
}

export function toggleTheme(): void {
  const t: Theme = theme() === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, t);
  show(t);
}
