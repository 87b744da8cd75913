// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';

// Drives a real Chromium, so it runs apart from the unit tests.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    environment: 'node',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    expect: { poll: { timeout: 8000 } },
  },
});
