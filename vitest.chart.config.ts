import { configDefaults, defineConfig } from 'vitest/config';

/** Without `--all`, what CI has time for: rendering, an installation, and gateways rolled under load. */
const long = process.env['CORRAL_CHART_TESTS'] === 'all' ? [] : ['test/chart/installed/long/**'];

export default defineConfig({
  test: {
    include: ['test/chart/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...long],
    environment: 'node',
    globalSetup: ['test/chart/give-images.ts'],
    // Releases share the cluster's two nodes, which hold one fleet and a burst.
    fileParallelism: false,
    // An installation from nothing with everything that is pulled, started and asked on two cores; an upgrade and back is two.
    testTimeout: 400_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
});
