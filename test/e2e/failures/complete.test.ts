import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failureCodes } from '#src/failure/codes.ts';

/** Where whole fleets are made to fail, on one machine and on a cluster, and their callers' answers are read. */
const folders = [import.meta.dirname, join(import.meta.dirname, '../../cluster/own/failures')];

const told = folders
  .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)))
  .filter((file) => file !== import.meta.filename)
  .map((file) => readFileSync(file, 'utf8'))
  .filter((text) => text.includes('expectFailure('))
  .join('\n');

/** In no error body: on the native face a 202 tells it, see still-running.test.ts. */
const isTold = (code: string) => told.includes(`'${code}'`) || code === 'still_running';

test('each failure code is told by a whole fleet in some test of what its callers hear', () => {
  expect(failureCodes.filter((code) => !isTold(code))).toEqual([]);
});
