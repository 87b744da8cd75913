// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';
import { glossary } from './build/glossary.ts';

export default defineConfig({
  plugins: [glossary()],
  test: { include: ['src/**/*.test.ts', 'test/*.test.ts'], environment: 'node' },
});
