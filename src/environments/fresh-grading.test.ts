import { describe, expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { environmentName } from '../model/ids.ts';
import { loadEnvironments } from './load-environments.ts';

const words = 'on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0';
const graded = (grader: string, rest = '') => `
name: graded
sandbox: { image: host, folders: [/logs] }
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh], ${words}${grader} }
${rest}`;
const changed = (changes: string) => `, grade_in: fresh, changes: {${changes}}, on_artifacts: 0`;
const fresh = ', grade_in: fresh, artifacts: [src/], on_artifacts: 0';

async function loaded(yaml: string, files: Readonly<Record<string, string>> = {}) {
  await using folder = await environmentFolder({ 'a.yaml': yaml, ...files });
  const environment = (await loadEnvironments(folder.path)).newest(environmentName('graded'));
  if (environment === undefined) throw new Error('it was not loaded');
  return environment;
}

async function changesOf(changes: string) {
  const { grader } = await loaded(graded(changed(changes)));
  return grader.kind === 'command' ? grader.fresh : null;
}

const part = (below: string) =>
  `{ weight: 1, grader: { kind: command, command: [sh], ${words}${changed(`below: [${below}]`)} } }`;

const both = (one: string, other: string) =>
  graded('').replace(/grader:.*/u, `grader: { kind: weighted, parts: [${part(one)}, ${part(other)}] }`);

async function mistakes(yaml: string, files: Readonly<Record<string, string>> = {}) {
  await using folder = await environmentFolder({ 'a.yaml': yaml, ...files });
  return (await mistakesOf(folder.path, loadEnvironments(folder.path))).join('\n');
}

describe('a grader that works in a sandbox of its own', () => {
  test('has a template that is the policy’s but for its role, and a share of the pool', async () => {
    const { template, graderTemplate, pool, grader } = await loaded(graded(fresh, 'pool: { max: 40 }'));
    expect(graderTemplate).toMatchObject({ ...template, role: 'grader', digest: expect.any(String) });
    expect(graderTemplate).not.toMatchObject({ digest: 'digest' in template ? template.digest : '' });
    expect(pool).toMatchObject({ max: 40, grader: { minReady: 1, max: 5 } });
    expect(grader).toMatchObject({ fresh: { artifacts: ['src/'], mostBytes: 8 * 2 ** 20, onArtifacts: 0 } });
  });

  test('changes no version of an environment that says `same`, which is what it says without', async () => {
    const { version, graderTemplate } = await loaded(graded(''));
    expect(graderTemplate).toBeUndefined();
    expect((await loaded(graded(', grade_in: same'))).version).toBe(version);
    expect((await loaded(graded(fresh))).version).not.toBe(version);
  });

  test('may have another image, held to the operator’s rules like the policy’s', async () => {
    const { graderTemplate } = await loaded(
      graded(fresh, 'grader_sandbox: { image: host, disk: 2Gi, folders: [/logs] }'),
    );
    expect(graderTemplate).toMatchObject({ diskBytes: 2 * 2 ** 30, role: 'grader' });
  });

  test.each([
    [', grade_in: fresh, on_artifacts: 0', '', 'artifacts is missing'],
    [', grade_in: fresh, artifacts: [src/]', '', 'on_artifacts is missing'],
    [', artifacts: [src/]', '', 'is of graders with grade_in: fresh'],
    [', grade_in: fresh, artifacts: [src/], on_artifacts: discard', '', 'must be a score'],
    [', grade_in: fresh, artifacts: [../src], on_artifacts: 0', '', 'must be a path'],
    [', grade_in: fresh, artifacts: [a/../../b], on_artifacts: 0', '', 'must be a path'],
    [', grade_in: fresh, artifacts: [/etc/passwd], on_artifacts: 0', '', 'neither below the workspace'],
    [`${fresh}, artifact_bytes: 65Mi`, '', 'must be at most'],
    [
      `${fresh}, artifact_bytes: 16Mi`,
      'grader_sandbox: { image: host, disk: 63Mi }',
      'its disk is 63Mi and must be 64Mi at least',
    ],
    [
      `${fresh}, artifact_bytes: 16Mi`,
      'grader_sandbox: { image: host, memory: 127Mi }',
      'its memory limit is 127Mi and must be 128Mi at least',
    ],
    [
      `${fresh}, artifact_bytes: 64Ki`,
      'grader_sandbox: { image: host, disk: 33Mi, memory: 33Mi }',
      'its memory limit is 33Mi and must be 97Mi at least',
    ],
    [', changes: {below: [.]}', '', 'is of graders with grade_in: fresh'],
    [', grade_in: fresh, changes: {below: [.]}', '', 'on_artifacts is missing'],
    [`${fresh}, changes: {below: [.]}`, '', 'replaces artifacts'],
    [changed('below: []'), '', 'must be a list of one to 16 folders'],
    [changed('below: [../x]'), '', 'must be . for the workspace'],
    [changed('below: [a/../..]'), '', 'must be . for the workspace'],
    [changed('below: [/]'), '', 'must be . for the workspace'],
    [changed('below: [/usr/src/app]'), '', '/usr has what graders run'],
    [changed('below: [/opt]'), '', '/opt has what graders run'],
    [changed('below: [.], except: [a/b]'), '', 'a name without a slash, or an absolute path'],
    [
      changed('below: [.]'),
      'grader_sandbox: { image: "rootfs:/srv/other" }',
      'image must be that of sandbox: the grader gets what differs from it',
    ],
    [changed('below: [.], files: 5000'), '', 'must be a whole number from 1 to 4096'],
    [fresh, 'pool: { max: 1 }', 'must be at most half'],
    [fresh, 'pool: { max: 8, grader: { max: 5 } }', 'must be at most half'],
    [fresh, 'pool: { min_ready: 8, max: 8 }', 'without the grader'],
    [fresh, 'limits: { grade: 12m }', 'must be at least 780 s'],
    [
      fresh,
      'grader_sandbox: { image: { from: item.image, allow: ["*"] } }\nlimits: { grade: 13m }',
      'must be at least 900 s',
    ],
    ['', 'pool: { grader: { max: 2 } }', 'there is none'],
    ['', 'grader_sandbox: { image: host }', 'there is none'],
    [fresh, 'grader_sandbox: { image: host, folders: [/logs], run_as: root }', 'run_as must not be root'],
  ])('with %s and %j is told: %s', async (grader, rest, told) => {
    expect(await mistakes(graded(grader, rest))).toContain(told);
  });

  test('may get all that the policy changed, without repositories’ own files and caches unless the author says otherwise', async () => {
    expect(await changesOf('below: [., /data/]')).toEqual({
      artifacts: [],
      mostBytes: 8 * 2 ** 20,
      onArtifacts: 0,
      changes: { below: ['.', '/data'], except: ['.git', '__pycache__'], mostFiles: 4096 },
    });
    expect(await changesOf('below: [src], except: ["*.log", /workspace/out], files: 9')).toMatchObject({
      changes: { below: ['src'], except: ['*.log', '/workspace/out'], mostFiles: 9 },
    });
  });

  test('cannot be a program that the policy may have written', async () => {
    const yaml = graded(changed('below: [/testbed]')).replace('command: [sh]', 'command: [/testbed/check]');
    expect(await mistakes(yaml)).toContain('the grader is a program there');
  });

  test('gets the same changes as every other part', async () => {
    expect(await mistakes(both('.', 'src'))).toContain('different changes');
    await loaded(both('.', '.'));
  });

  test('loads with the smallest sandbox that has room for its artifacts', async () => {
    const smallest = 'grader_sandbox: { image: host, disk: 64Mi, memory: 128Mi }';
    const { grader } = await loaded(graded(`${fresh}, artifact_bytes: 16Mi`, smallest));
    expect(grader).toMatchObject({ fresh: { mostBytes: 16 * 2 ** 20 } });
  });

  test('runs as the ordinary user if the commands of the policy are root', async () => {
    const rooted = graded(fresh).replace('image: host,', 'image: host, run_as: root,');
    const { template, graderTemplate } = await loaded(rooted);
    expect([template.runAs, graderTemplate?.runAs]).toEqual(['root', 'user']);
  });

  test('is needed if the commands of the policy are root: they could write the score', async () => {
    const rooted = graded('').replace('image: host,', 'image: host, run_as: root,');
    expect(await mistakes(rooted)).toContain('they can write its score: use grade_in: fresh');
    const gated = rooted
      .replace('{ kind: command', '{ kind: gate, all: [{ kind: command')
      .replace('on_broken: 0 }', 'on_broken: 0 }], grader: { kind: text, reference: item.answer } }');
    expect(await mistakes(gated)).toContain('they can write its score');
  });

  test.each(['run_as: root', 'uid: single'])(
    'charges no time that commands with %s could write themselves',
    async (user) => {
      const charged = (surcharge: string) => `
name: graded
sandbox: { image: host, ${user} }
tools: { shell: { builtin: shell } }
grader: { kind: penalty, free_calls: 1, each: 0.1, ${surcharge} grader: { kind: text, reference: item.answer } }`;
      expect(await mistakes(charged('time: { free: 1s, per: 1s, each: 0.1 },'))).toContain(
        'charge for calls alone',
      );
      expect(await loaded(charged(''))).toMatchObject({ name: 'graded' });
    },
  );

  test('may name a folder that both sandboxes have', async () => {
    const { grader } = await loaded(
      graded(', grade_in: fresh, artifacts: [/logs/run.json], on_artifacts: 0'),
    );
    expect(grader).toMatchObject({ fresh: { artifacts: ['/logs/run.json'] } });
  });

  test('has the image of the row where each row names one, unless grader_sandbox names another', async () => {
    const rows = graded(fresh).replace('image: host,', 'image: { from: item.image, allow: ["*"] },');
    const { graderTemplate, pool } = await loaded(rows);
    expect(graderTemplate).toMatchObject({ role: 'grader', image: { kind: 'row', field: 'image' } });
    expect(graderTemplate).not.toHaveProperty('digest');
    expect(pool.grader).toMatchObject({ minReady: 0 });
    expect(await mistakes(`${rows}pool: { grader: { min_ready: 1 } }`)).toContain(
      'must be 0 where each row names the image of its grader',
    );
    const other = await loaded(`${rows}grader_sandbox: { image: host }`);
    expect(other.graderTemplate).toMatchObject({ role: 'grader', image: { kind: 'host' } });
    expect(other.pool.grader).toMatchObject({ minReady: 1 });
  });

  test('takes what tasks demand from sandbox alone', async () => {
    const demanding =
      'grader_sandbox: { image: host, memory: { request: 1Gi, limit: 2Gi, from: item.memory } }';
    expect(await mistakes(graded(fresh, demanding))).toContain('has no from');
  });
});

describe('hidden files of rows', () => {
  const from = ', files: { check.sh: "exit 0", from: "tests/{item.id}/" }';
  const files = { 'tests/one/a.txt': '1', 'tests/one/deep/b.txt': '2', 'tests/two/a.txt': '3' };

  test('are read with the environment, by folder, beside its other files', async () => {
    const { grader } = await loaded(graded(from), files);
    expect(grader).toMatchObject({
      files: { 'check.sh': 'exit 0' },
      rowFiles: {
        field: 'id',
        folders: { one: { 'a.txt': '1', 'deep/b.txt': '2' }, two: { 'a.txt': '3' } },
      },
    });
  });

  test('count in its version, and what is not text stays what it is', async () => {
    const { version } = await loaded(graded(from), files);
    expect((await loaded(graded(from), { ...files, 'tests/two/a.txt': '4' })).version).not.toBe(version);
  });

  const large = { 'tests/one/a': 'x'.repeat(5 * 2 ** 20) };
  test.each([
    ['tests/{item.id}/', {}, 'finds no folder of a row in tests/'],
    ['../{item.id}/', files, 'must be the folder of a row'],
    ['/etc/{item.id}/', files, 'must be the folder of a row'],
    ['tests/{item.id}', files, 'must be the folder of a row'],
    ['tests/{item.id}/{item.id}/', files, 'must be the folder of a row'],
    ['tests/{item.id}/', large, 'a row may have'],
  ])('of %s are told: $2', async (written, given, told) => {
    expect(await mistakes(graded(`, files: { from: "${written}" }`), given)).toContain(told);
  });
});
