import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that break a cluster or bring images to its nodes; they need one that `infra/cluster` started. */
const breaking = process.env['CORRAL_CLUSTER'] === undefined ? ['test/cluster/own/**'] : [];

export default defineConfig({
  test: {
    include: ['test/cluster/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...breaking],
    environment: 'node',
    // One cluster for all: a file that breaks a node must not meet one that needs it.
    fileParallelism: false,
    // Tests of one file wait for the cluster far more than they work: all of them at once.
    maxConcurrency: 20,
    // A node is given up after 10 s, comes back after up to 13 s, and the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
});
