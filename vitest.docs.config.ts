import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/docs/**/*.test.ts'],
    environment: 'node',
    // VitePress builds the whole site, on two cores that others may use.
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
