import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/release/cluster/*.test.ts'],
    environment: 'node',
    // All use one registry, and the nodes hold one fleet.
    fileParallelism: false,
    testTimeout: 400_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
});
