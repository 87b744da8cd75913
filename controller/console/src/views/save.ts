// SPDX-License-Identifier: Apache-2.0
// A chart with a menu to save it as PNG, SVG or CSV.

import greek from '@fontsource-variable/ibm-plex-sans/files/ibm-plex-sans-greek-wght-normal.woff2?url';
import latin from '@fontsource-variable/ibm-plex-sans/files/ibm-plex-sans-latin-wght-normal.woff2?url';
import { fileStem } from '../charts/caption';
import type { Picture } from '../charts/picture';
import type { Plot } from '../charts/plot';
import { h } from '../dom';

function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const a = h('a', { href: url, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Pixels of the PNG per CSS pixel. */
const SCALE = 2;

/** Draws the PNG from the SVG. */
async function png(p: Picture): Promise<Blob | null> {
  const drawn = await decoded(await withFont(await p.svg()));
  const out = document.createElement('canvas');
  out.width = SCALE * drawn.width;
  out.height = SCALE * drawn.height;
  const g = out.getContext('2d');
  if (!g) return null;
  g.drawImage(drawn, 0, 0, out.width, out.height);
  return new Promise((done) => out.toBlob(done, 'image/png'));
}

async function decoded(svg: string): Promise<HTMLImageElement> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  return image;
}

/** The page's fonts as text, because a picture made from SVG cannot use fonts of the page. */
let fonts: Promise<string> | null = null;

async function withFont(svg: string): Promise<string> {
  fonts ??= Promise.all([latin, greek].map(fontFace)).then((faces) => `<style>${faces.join('')}</style>`);
  const style = await fonts.catch(() => {
    // It may load the next time; until then the browser's own font is used.
    fonts = null;
    return '';
  });
  return svg.replace(/<svg[^>]*>/, (root) => root + style);
}

async function fontFace(address: string): Promise<string> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  const data = new Uint8Array(await answer.arrayBuffer());
  const text = btoa(Array.from(data, (b) => String.fromCharCode(b)).join(''));
  const range = address === greek ? 'U+0370-03FF' : 'U+0000-036F,U+0400-FFFF';
  return `@font-face{font-family:'IBM Plex Sans';font-weight:100 700;src:url(data:font/woff2;base64,${text}) format('woff2');unicode-range:${range}}`;
}

const KINDS = ['PNG', 'SVG', 'CSV'] as const;

async function save(p: Picture, kind: (typeof KINDS)[number]): Promise<void> {
  if (p.empty()) throw new Error('nothing was measured in the span shown, or it is still being read');
  const stem = fileStem(p.name);
  if (kind === 'CSV') download(`${stem}.csv`, new Blob([p.csv()], { type: 'text/csv' }));
  else if (kind === 'SVG') download(`${stem}.svg`, new Blob([await p.svg()], { type: 'image/svg+xml' }));
  else {
    const blob = await png(p);
    if (!blob) throw new Error('the browser cannot make a PNG of it');
    download(`${stem}.png`, blob);
  }
}

/** Creates a menu for saving a chart. */
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
    // A menu stays open if the window loses the focus, e.g. to its own download.
    if (document.hasFocus() && !menu.contains(e.relatedTarget as Node | null)) menu.open = false;
  });
  return menu;
}

/** Returns a chart's element with its menu. */
export function chartBox(plot: Plot): HTMLElement {
  return h('div', { class: 'chart-box' }, plot.element, saveMenu(plot));
}
