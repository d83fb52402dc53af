import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/console/**/*.test.ts'],
    environment: 'node',
    // One browser at a time.
    fileParallelism: false,
    // A browser on two cores that others may use.
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
