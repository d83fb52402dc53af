import { defineConfig } from 'vitest/config';
import SlowestFirst from './test/support/slowest-first.ts';
import { sharingOneFleet, suites } from './test/suites.ts';

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
        },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: [...suites.whole.files],
          exclude: [...suites.whole.without, ...sharingOneFleet],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'shared',
          include: sharingOneFleet,
          isolate: false,
          globalSetup: ['test/support/start-shared-fleet.ts'],
        },
      },
      { extends: true, test: { name: 'deep', include: [...suites.deep.files] } },
      { extends: true, test: { name: 'clients', include: [...suites.clients.files] } },
    ],
    environment: 'node',
    sequence: { sequencer: SlowestFirst },
    // One more than cores, because a third of a file's time is waiting.
    maxWorkers: 3,
    // What is waited for has happened in milliseconds, or the machine is busy: these end only what would wait for ever.
    expect: { poll: { timeout: 30_000, interval: 50 } },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
