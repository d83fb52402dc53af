import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scriptOf } from '#test/support/documented-commands.ts';
import { sharedPayload } from '#test/support/fleet.ts';

const repository = join(import.meta.dirname, '../..');
const page = readFileSync(join(repository, 'docs/first-environment.md'), 'utf8');

test('an author who follows the page is shown the hole, and has an environment that is proven', () => {
  const folder = mkdtempSync(join(tmpdir(), 'corral-author-'));
  try {
    // What a first start builds for minutes, everybody has from the second on.
    mkdirSync(join(folder, 'environments/.corral'), { recursive: true });
    symlinkSync(sharedPayload, join(folder, 'environments/.corral/payload'));
    const env = { PATH: process.env['PATH'], HOME: folder, CORRAL_HOME: repository };
    const { status, stdout, stderr } = spawnSync('sh', ['-eu'], {
      cwd: folder,
      env,
      input: scriptOf(page, false),
      encoding: 'utf8',
    });
    // What went wrong is said there.
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toContain('{"messages":[{"role":"user","content":"The file auth.log');
    const [first, hole, second, attacks] = stdout.split(/^(?=ladder of |attacks on )/m).slice(1);
    expect(first).toMatch(
      /first-in-the-log +naive +2 +0\.500[^]*last-of-all +good +2 +0\.750[^]*The rungs stand in order\./,
    );
    expect(hole).toMatch(/thousands-of-answers[^\n]*HOLE[^]*a hole was found/);
    expect(second).toMatch(/last-of-all +good +2 +0\.833[^]*The rungs stand in order\./);
    expect(attacks).toMatch(/paid as nothing is\./);
    expect(attacks).not.toContain('HOLE');
  } finally {
    rmSync(folder, { recursive: true });
  }
  // Four fleets one after the other, as an author has them who starts none.
}, 300_000);
