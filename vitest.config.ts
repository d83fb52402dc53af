import { defineConfig } from 'vitest/config';

/** Beside the code. A worker plays file after file: their modules keep nothing that another file could meet. */
const beside = '{src,services,cli,demo,gallery,bench,loadtest,tools,infra,setup}/**/*.test.ts';

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'beside', include: [beside], isolate: false } },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          // They need a Kubernetes cluster (`npm run test:cluster`), with Helm (`npm run test:chart`) or Prometheus (`npm run test:alerts`).
          exclude: ['test/cluster/**', 'test/chart/**', 'test/alerts/**'],
        },
      },
    ],
    environment: 'node',
    // One more than cores: a quarter of the time is waiting for bounds that are what is tested. On two cores the whole takes
    // 883 s with three and 1,091 with two; more was not tried.
    maxWorkers: 3,
    // What is waited for has happened in milliseconds, or the machine is busy: these end only what would wait for ever.
    expect: { poll: { timeout: 30_000, interval: 50 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
