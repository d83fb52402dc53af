import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import SlowestFirst from './test/support/slowest-first.ts';
import { sharingOneFleet, suites } from './test/suites.ts';

/** Projects of the same turn are played together, by so many workers. */
const atOnce = (turn: number, workers: number) => ({
  maxWorkers: workers,
  sequence: { groupOrder: turn },
});

/** Unit tests only compute: one more worker than cores would only import all modules once more. */
const ofUnit = availableParallelism();
/** A file of `whole` waits for two thirds of its time, so two cores play four at once. */
const ofWhole = 4;

export default defineConfig({
  test: {
    // `isolate: false`: a worker plays file after file and imports each module once. The modules keep nothing that another file
    // could meet. `deep` measures memory.
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [...suites.unit.files],
          exclude: [...suites.unit.without],
          isolate: false,
          ...atOnce(0, ofUnit),
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: [...suites.whole.files],
          exclude: [...suites.whole.without, ...sharingOneFleet],
          isolate: false,
          ...atOnce(1, ofWhole),
        },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: sharingOneFleet,
          isolate: false,
          globalSetup: ['test/support/start-shared-fleet.ts'],
          ...atOnce(1, ofWhole),
        },
      },
      { extends: true, test: { name: 'deep', include: [...suites.deep.files], ...atOnce(2, 3) } },
      { extends: true, test: { name: 'clients', include: [...suites.clients.files], ...atOnce(3, 3) } },
      {
        extends: true,
        test: {
          name: 'docs',
          include: [...suites.docs.files],
          // VitePress builds the whole site, on two cores that others may use.
          hookTimeout: 300_000,
          // Two builds at once would share VitePress's temporary folder, and one removes it.
          ...atOnce(4, 1),
        },
      },
      {
        extends: true,
        test: {
          name: 'parity',
          include: [...suites.parity.files],
          globalSetup: ['test/parity/make-root-once.ts'],
          // A container and a sandbox each: more at once do not end sooner on two cores, and probes wait for servers that they start.
          maxConcurrency: 3,
          // A probe of 90 s, with its patience, played twice.
          testTimeout: 600_000,
          hookTimeout: 300_000,
          ...atOnce(5, 2),
        },
      },
      // `test/release/main.ts` builds the release first, and names it in a variable.
      {
        extends: true,
        test: {
          name: 'release',
          include: ['test/release/*.test.ts'],
          // A second build from empty caches, and frameworks that are fetched.
          testTimeout: 900_000,
          hookTimeout: 600_000,
          ...atOnce(6, 1),
        },
      },
    ],
    environment: 'node',
    sequence: { sequencer: SlowestFirst },
    // What is waited for has happened in milliseconds, or the machine is busy: these end only what would wait for ever.
    expect: { poll: { timeout: 30_000, interval: 50 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
