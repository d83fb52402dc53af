import { execFile } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { environmentFolder } from '#test/support/environment-folder.ts';

const grader = join(import.meta.dirname, '../../../environments/graders/column-total.sh');
const run = promisify(execFile);

/** What `as-policy --stdin --timeout N PROGRAM…` is for a grader's words, without another user. */
const asPolicy = '#!/bin/sh\nshift 3\nexec env -i PATH="$PATH" "$@"\n';

const right = `awk -F, 'NR > 1 { sum += $2 } END { print sum + 0 }'`;

test.each([
  ['a right script', right, '1.0000'],
  ['a script that sums whole numbers only', right.replace('$2', 'int($2)'), '0.8000'],
  ['a script that crashes', 'exit 3', '0.0000'],
  ['a script that says that all is well', 'echo 5 passed; echo 1', '0.0000'],
])('the grader of column-total gives %s its share of the cases', async (_what, script, score) => {
  await using folder = await environmentFolder({ 'total.sh': script, 'as-policy': asPolicy });
  await chmod(join(folder.path, 'as-policy'), 0o755);
  const scoreFile = join(folder.path, 'score');
  const env = { PATH: `${folder.path}:${process.env['PATH'] ?? ''}`, CORRAL_SCORE_FILE: scoreFile };
  await run('sh', [grader], { cwd: folder.path, env });
  expect((await readFile(scoreFile, 'utf8')).trim()).toBe(score);
});
