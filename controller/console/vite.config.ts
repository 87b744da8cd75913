// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';
import { documentation, ENTRY } from './build/docs.ts';
import { glossary } from './build/glossary.ts';

/** Bundled packages whose licence must be included. */
const BUNDLED = [
  ['uplot', 'LICENSE'],
  ['minisearch', 'LICENSE.txt'],
  ['@fontsource-variable/ibm-plex-sans', 'LICENSE'],
] as const;

/** Puts the licences of the bundled packages next to the bundle. */
function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle() {
      const parts = BUNDLED.map(([name, file]) => {
        const text = readFileSync(new URL(`node_modules/${name}/${file}`, import.meta.url), 'utf8');
        return `${name}\n${'='.repeat(name.length)}\n\n${text.trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: parts.join('\n\n') });
    },
  };
}

// The controller serves `dist/` from its own binary, so every address is
// relative and nothing is fetched from elsewhere.
export default defineConfig({
  base: './',
  plugins: [glossary(), licences(), documentation()],
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 300,
    // The pages of the documentation take most of the time, as expected.
    rolldownOptions: { checks: { bundlerTimings: false }, input: { index: 'index.html', [ENTRY]: 'src/docs/main.ts' } },
  },
  server: {
    // `npm run dev` together with `npm run mock`, or with a controller:
    // TIDEMARK_API=http://127.0.0.1:8080 npm run dev
    proxy: { '/api': process.env.TIDEMARK_API ?? 'http://127.0.0.1:8090' },
  },
});
