import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/parity/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['test/parity/make-root-once.ts'],
    // A container and a sandbox each: more at once do not end sooner on two cores, and probes wait for servers that they start.
    maxConcurrency: 3,
    // A probe of 90 s, with its patience, played twice.
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
