// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vite';

// The controller serves `dist/` from its own binary, so every address is
// relative and nothing is fetched from elsewhere.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 300,
  },
  server: {
    // `npm run dev` beside `npm run mock`, or beside a controller:
    // TIDEMARK_API=http://127.0.0.1:8080 npm run dev
    proxy: { '/api': process.env.TIDEMARK_API ?? 'http://127.0.0.1:8090' },
  },
});
