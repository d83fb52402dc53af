import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/alerts/**/*.test.ts'],
    environment: 'node',
    globalSetup: ['test/chart/give-images.ts'],
    fileParallelism: false,
    // A fault, its alerts and their end; a lost node and an image that comes late are minutes on two cores.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
});
