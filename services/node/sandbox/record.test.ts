import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createGroups } from '../cgroups/create-groups.ts';
import { noGroups } from '../cgroups/groups.ts';
import type { NodeEvent } from './feed.ts';
import { createRecords, removeOrphans } from './record.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'corral-records-'))));
afterEach(() => rmSync(folder, { recursive: true }));

it('what pulled an image or built data when node crashed is no lost sandbox', async () => {
  const records = createRecords(folder);
  // A sandbox may be named like one.
  for (const sandbox of ['one', 'data-two']) records.make(sandbox);
  const none = createGroups(noGroups, 'test', createFakeClock());
  const groups = { ...none, list: () => Promise.resolve(['one', 'three', 'image-pull-4', 'data-5']) };
  const told: string[] = [];
  const feed = {
    tell: (event: NodeEvent) => {
      if ('sandbox' in event) told.push(event.sandbox);
    },
  };
  expect(await removeOrphans({ records, groups, feed, log: createFakeLog() })).toBe(5);
  expect(told.toSorted()).toEqual(['data-two', 'one', 'three']);
});
