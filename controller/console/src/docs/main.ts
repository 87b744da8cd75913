// SPDX-License-Identifier: Apache-2.0
// Script of a page of the documentation: theme, side bar, search.

import '../styles/tokens.css';
import './docs.css';
import { onTheme, startTheme, theme, toggleTheme } from '../charts/theme';
import { attr, h, text } from '../dom';
import { type Hit, type Library, searcher } from './library';

/** On a narrower screen the side bar is a list that opens. */
const WIDE = '(min-width: 60rem)';
const up = document.body?.dataset.up ?? '../';

function must<E extends Element>(selector: string): E {
  const e = document.querySelector<E>(selector);
  if (!e) throw new Error(`the page has no ${selector}`);
  return e;
}

function showTheme(): void {
  const button = must<HTMLButtonElement>('.theme');
  const dark = theme() === 'dark';
  button.hidden = false;
  text(button, dark ? 'Light' : 'Dark');
  attr(button, 'aria-label', dark ? 'Use the light theme' : 'Use the dark theme');
}

function sideBar(): void {
  const list = must<HTMLDetailsElement>('.pages');
  const wide = matchMedia(WIDE);
  const follow = (): void => {
    list.open = wide.matches;
    if (!wide.matches) return;
    const here = list.querySelector('[aria-current]');
    // Scrolls the list only, never the page.
    if (here instanceof HTMLElement) list.scrollTop = Math.max(0, here.offsetTop - list.clientHeight / 3);
  };
  follow();
  wide.addEventListener('change', follow);
}

let library: Promise<(query: string) => Hit[]> | null = null;

/** Loads the index when somebody is about to search. */
function loaded(): Promise<(query: string) => Hit[]> {
  library ??= fetch(`${up}docs/search.json`).then(async (r) => {
    if (!r.ok) throw new Error(`status ${r.status}`);
    return searcher((await r.json()) as Library);
  });
  library.catch(() => {
    library = null;
  });
  return library;
}

/** Returns a text in which the matching words are marked. */
function marked(words: string, found: readonly string[]): (HTMLElement | string)[] {
  if (found.length === 0) return [words];
  const pattern = new RegExp(`(${found.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'giu');
  return words.split(pattern).map((part, i) => (i % 2 === 1 ? h('mark', {}, part) : part));
}

function search(): void {
  const [box, input, panel, status, list] = [must<HTMLElement>('.search'), must<HTMLInputElement>('#search'), must<HTMLElement>('.found'), must('.found [role=status]'), must('.found ol')];
  let asked = 0;
  const close = (): void => {
    panel.hidden = true;
  };
  const show = (hits: readonly Hit[]): void => {
    list.replaceChildren(
      ...hits.map(({ href, title, heading, excerpt, found }) => {
        const head = heading === '' || heading === title ? title : `${heading} · ${title}`;
        return h('li', {}, h('a', { href: `${up}docs/${href}`, onclick: close }, h('b', {}, ...marked(head, found)), h('span', {}, ...marked(excerpt, found))));
      }),
    );
    text(status, hits.length === 0 ? 'Nothing has these words.' : `${hits.length} ${hits.length === 1 ? 'section' : 'sections'}`);
    panel.hidden = false;
  };
  const ask = async (): Promise<void> => {
    asked += 1;
    const [query, mine] = [input.value.trim(), asked];
    if (query === '') return close();
    try {
      const find = await loaded();
      if (mine === asked) show(find(query));
    } catch (e) {
      text(status, `The search could not be loaded (${e instanceof Error ? e.message : e}): is the controller running?`);
      list.replaceChildren();
      panel.hidden = false;
    }
  };
  const links = (): HTMLElement[] => [...list.querySelectorAll('a')];
  input.addEventListener('focus', () => void loaded().catch(() => {}));
  input.addEventListener('input', () => void ask());
  box.addEventListener('keydown', (e) => {
    const all = links();
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      const to = at + (e.key === 'ArrowDown' ? 1 : -1);
      (to < 0 ? input : all[Math.min(to, all.length - 1)])?.focus();
    } else if (e.key === 'Enter' && at < 0) all[0]?.click();
    else if (e.key === 'Escape') {
      close();
      input.focus();
    }
  });
  box.addEventListener('focusout', (e) => {
    if (!box.contains(e.relatedTarget as Node | null)) close();
  });
  document.addEventListener('keydown', (e) => {
    if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || document.activeElement instanceof HTMLInputElement) return;
    e.preventDefault();
    input.focus();
  });
  box.hidden = false;
}

startTheme();
showTheme();
onTheme(showTheme);
must('.theme').addEventListener('click', toggleTheme);
sideBar();
search();
