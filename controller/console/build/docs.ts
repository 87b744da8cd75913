// SPDX-License-Identifier: Apache-2.0
// The documentation as pages beside the console, so that what the page names is
// explained where there is no network: docs/**/*.md becomes dist/docs/**/*.html.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';
import type { Plugin } from 'vite';

const DOCS = fileURLToPath(new URL('../../../docs', import.meta.url));

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((e) => {
    const path = join(folder, e.name);
    return e.isDirectory() ? files(path) : e.name.endsWith('.md') ? [path] : [];
  });
}

/** The name of a heading in an address, as GitHub makes it. */
export function slug(heading: string): string {
  return heading
    .replace(/<[^>]*>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** A page of the documentation; `at` is its path below docs/. */
export function page(at: string, markdown: string): string {
  const known = (to: string): boolean => !posix.join(posix.dirname(at), to).startsWith('..');
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${escaped(slug(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const words = this.parser.parseInline(tokens);
        if (/^[a-z]+:/i.test(href)) return /^https?:/.test(href) ? `<a href="${escaped(href)}">${words}</a>` : words;
        const [path = '', hash = ''] = href.split('#');
        if (path && (!path.endsWith('.md') || !known(path))) return words;
        return `<a href="${escaped(path.replace(/\.md$/, '.html'))}${hash ? `#${escaped(hash)}` : ''}">${words}</a>`;
      },
      // A corner of a table heads nothing.
      tablecell({ tokens, header, align }) {
        const content = this.parser.parseInline(tokens);
        const tag = header && content ? 'th' : 'td';
        return `<${tag}${align ? ` align="${align}"` : ''}>${content}</${tag}>\n`;
      },
      // Figures are in the repository.
      image: ({ text }) => escaped(text),
      // Markup of the documentation itself: sub- and superscripts.
      html: ({ text }) => (/^<\/?(sub|sup|br)>$/.test(text.trim()) ? text : escaped(text)),
    },
  });
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? at;
  const up = '../'.repeat(at.split('/').length);
  // What is wider than the screen is scrolled, by the keyboard too.
  const body = String(marked.parse(markdown.replace(/^---\n[\s\S]*?\n---\n/, '')))
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>');
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<title>${escaped(title)} · Tidemark</title><link rel="icon" type="image/svg+xml" href="${up}mark.svg"><link rel="stylesheet" href="${up}docs.css"></head>` +
    `<body><header><a href="${up}">Console</a> <a href="${up}docs/README.html">Documentation</a></header><main>${body}</main></body></html>\n`
  );
}

export function documentation(): Plugin {
  return {
    name: 'documentation',
    apply: 'build',
    generateBundle() {
      for (const path of files(DOCS)) {
        const at = relative(DOCS, path).split(sep).join('/');
        const source = page(at, readFileSync(path, 'utf8'));
        this.emitFile({ type: 'asset', fileName: posix.join('docs', dirname(at), `${posix.basename(at, '.md')}.html`), source });
      }
    },
  };
}
