import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      '{src,services,cli,demo,gallery,bench,loadtest,tools,infra,setup}/**/*.test.ts',
      'test/**/*.test.ts',
    ],
    // They need a Kubernetes cluster (`npm run test:cluster`), with Helm (`npm run test:chart`) or Prometheus (`npm run test:alerts`).
    exclude: ['test/cluster/**', 'test/chart/**', 'test/alerts/**', 'node_modules/**'],
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
