import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,services,cli,demo,bench,loadtest,tools,infra,setup}/**/*.test.ts', 'test/**/*.test.ts'],
    environment: 'node',
    // Two cores: more workers than that make the timing of real sandboxes worse, not the suite faster.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
});
