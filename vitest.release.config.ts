import { defineConfig } from 'vitest/config';

/** `test/release/main.ts` builds the release first, and says where it is. */
export default defineConfig({
  test: {
    include: ['test/release/*.test.ts'],
    environment: 'node',
    fileParallelism: false,
    // A second build from empty caches, and frameworks that are fetched.
    testTimeout: 900_000,
    hookTimeout: 600_000,
  },
});
