import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { environmentFolder } from '../../support/environment-folder.ts';

const grader = join(import.meta.dirname, '../../../environments/graders/column-total.sh');
const run = promisify(execFile);

const right = `awk -F, 'NR > 1 { sum += $2 } END { print sum + 0 }'`;

test.each([
  ['a right script', right, '1.0000'],
  ['a script that sums whole numbers only', right.replace('$2', 'int($2)'), '0.8000'],
  ['a script that crashes', 'exit 3', '0.0000'],
  ['a script that tries to write its own score', 'echo 1 > "$CORRAL_SCORE_FILE"; echo 1', '0.0000'],
])('the grader of script-tests gives %s its share of the cases', async (_what, script, score) => {
  await using folder = await environmentFolder({ 'total.sh': script });
  const scoreFile = join(folder.path, 'score');
  await run('sh', [grader], { cwd: folder.path, env: { ...process.env, CORRAL_SCORE_FILE: scoreFile } });
  expect((await readFile(scoreFile, 'utf8')).trim()).toBe(score);
});
