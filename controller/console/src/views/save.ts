// SPDX-License-Identifier: Apache-2.0
// A chart with the ways to save it: PNG, SVG, CSV.

import type { Picture } from '../charts/picture';
import type { Plot } from '../charts/plot';
import { ink } from '../charts/theme';
import { h } from '../dom';

function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The picture on paper: charts are transparent. */
async function png(p: Picture): Promise<Blob | null> {
  const out = document.createElement('canvas');
  const g = out.getContext('2d');
  if (!g) return null;
  const drawn = p.canvas?.() ?? (await fromSvg(p.svg()));
  out.width = drawn.width;
  out.height = drawn.height;
  g.fillStyle = ink('sheet');
  g.fillRect(0, 0, out.width, out.height);
  g.drawImage(drawn, 0, 0);
  return new Promise((done) => out.toBlob(done, 'image/png'));
}

async function fromSvg(svg: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  return image;
}

const KINDS = ['PNG', 'SVG', 'CSV'] as const;

async function save(p: Picture, kind: (typeof KINDS)[number]): Promise<void> {
  const stem = `tidemark-${p.name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;
  if (kind === 'CSV') download(`${stem}.csv`, new Blob([p.csv()], { type: 'text/csv' }));
  else if (kind === 'SVG') download(`${stem}.svg`, new Blob([p.svg()], { type: 'image/svg+xml' }));
  else {
    const blob = await png(p);
    if (!blob) throw new Error('the browser cannot make a PNG of it');
    download(`${stem}.png`, blob);
  }
}

/** What to save a chart with. */
export function saveMenu(picture: Picture): HTMLElement {
  const { name } = picture;
  const menu = h('details', { class: 'save' }, h('summary', { 'aria-label': `Save the chart: ${name}`, title: `Save: ${name}` }, '⤓'));
  const list = h('div', { class: 'save-list' });
  const error = h('p', { class: 'kept form-error', role: 'alert', hidden: true });
  for (const kind of KINDS) {
    const b = h('button', { type: 'button' }, kind);
    b.addEventListener('click', () => {
      menu.open = false;
      error.hidden = true;
      save(picture, kind).catch((e: unknown) => {
        error.textContent = `${kind} not saved: ${e instanceof Error ? e.message : String(e)}`;
        error.hidden = false;
        menu.open = true;
      });
    });
    list.append(b);
  }
  list.append(error);
  menu.append(list);
  menu.addEventListener('focusout', (e) => {
    // A window that loses the focus, to its own download for one, keeps its menus.
    if (document.hasFocus() && !menu.contains(e.relatedTarget as Node | null)) menu.open = false;
  });
  return menu;
}

/** A chart's element with its menu. */
export function chartBox(plot: Plot): HTMLElement {
  return h('div', { class: 'chart-box' }, plot.element, saveMenu(plot));
}
