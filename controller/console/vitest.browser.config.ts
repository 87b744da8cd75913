// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';

// Drives a real Chromium, so it runs apart from the unit tests.
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    environment: 'node',
    testTimeout: 240_000,
    hookTimeout: 120_000,
    // Each file starts its own servers and browser: on two cores, two files at a time would starve
    // each other.
    maxWorkers: 1,
    // Only a failure waits this long, because a machine may be slow.
    expect: { poll: { timeout: 30_000 } },
  },
});
