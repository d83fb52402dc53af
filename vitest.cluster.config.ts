import { configDefaults, defineConfig } from 'vitest/config';
import SlowestFirst from './test/support/slowest-first.ts';

/** Tests that break a cluster or bring images to its nodes; they need one that `infra/cluster` started. */
const breaking = process.env['CORRAL_CLUSTER'] === undefined ? ['test/cluster/own/**'] : [];
const exclude = [...configDefaults.exclude, ...breaking];
/** Without `--all`, what CI has time for: rendering, an installation, and gateways rolled under load. */
const long = process.env['CORRAL_CHART_TESTS'] === 'all' ? [] : ['test/chart/installed/long/**'];

/** They mostly wait for the cluster, each in a namespace of its own, and break nothing but their own pods. */
const peaceful = [
  'test/cluster/{network-policies,operators-page,rbac}.test.ts',
  'test/cluster/own/{data-on-pods,how-to,images-of-rows,out-of-account,preflight,provider-contract,role-of-controller,sandboxd-in-a-pod}.test.ts',
  'test/cluster/own/failures/{emptied-redis,failing-starts,grader-sandbox,out-of-memory}.test.ts',
  'test/cluster/own/failures/{processes,rollouts,sandbox-ends,spent-quota}.test.ts',
];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'peaceful', include: peaceful, exclude, maxWorkers: 4, sequence: { groupOrder: 0 } },
      },
      // One cluster for all: a file that breaks a node must not meet one that needs it.
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/cluster/**/*.test.ts'],
          exclude: [...exclude, ...peaceful],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'chart',
          include: ['test/chart/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...long],
          globalSetup: ['test/chart/give-images.ts'],
          // Releases share the cluster's two nodes, which hold one fleet and a burst.
          maxWorkers: 1,
          // An installation from nothing with everything that is pulled, started and asked on two cores; an upgrade and back is two.
          testTimeout: 400_000,
          hookTimeout: 240_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alerts',
          include: ['test/alerts/**/*.test.ts'],
          globalSetup: ['test/chart/give-images.ts'],
          maxWorkers: 1,
          // A fault, its alerts and their end; a lost node and an image that comes late are minutes on two cores.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'release-cluster',
          include: ['test/release/cluster/*.test.ts'],
          // All use one registry, and the nodes hold one fleet.
          maxWorkers: 1,
          testTimeout: 400_000,
          hookTimeout: 400_000,
          sequence: { groupOrder: 4 },
        },
      },
    ],
    environment: 'node',
    sequence: { sequencer: SlowestFirst },
    // Tests of one file wait for the cluster far more than they work: all of them at once.
    maxConcurrency: 20,
    // A node is given up after 10 s, comes back after up to 13 s, and the machine may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 200 } },
  },
});
