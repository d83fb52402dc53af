import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { type SwePage, type SweRow, followSwePage } from '#test/support/how-to/swe-page.ts';
import { pushTaskImage } from '#test/support/how-to/task-image.ts';
import { type ImageRegistry, startImageRegistry } from '#test/support/image-registry.ts';

/* docs/swe-bench.md on one machine: its commands, and what it says of changes and of what it cannot prevent. */

let registry: ImageRegistry;
let page: SwePage;
let corral: FleetOfTest;
beforeAll(async () => {
  registry = await startImageRegistry();
  page = await followSwePage(registry.host);
  for (const [index, { archive }] of page.tasks.entries())
    await pushTaskImage(archive, page.rows[index]?.image ?? '');
  corral = await startFleetOfTest({ environments: { swe: page.environment }, files: page.files });
}, 600_000);
afterAll(async () => {
  await corral.stop();
  await registry[Symbol.asyncDispose]();
  await rm(page.folder, { recursive: true });
});

let rollouts = 0;
async function play(row: SweRow | undefined, command: string) {
  if (row === undefined) throw new Error('no such row');
  const at = { trace: `swe-${(rollouts += 1)}`, environment: 'swe', item: { ...row } };
  expect(await corral.rft.call({ ...at, call: 'c1', command })).toMatchObject({ status: 200 });
  return corral.rft.grade(at);
}

test('the page’s policies stand in order on two real fixes, and the next images are announced', async () => {
  const printed = await page.play(corral.fleet, 'one machine');
  expect(printed).toContain('0 changes of at most 4096');
  expect(printed).toMatch(/nothing +nothing +2 +0\.000/);
  expect(printed).toMatch(/published-fix +reference +2 +1\.000 +1\.000/);
  for (const cheat of ['deletes-the-tests', 'passes-by-conftest', 'poisons-python'])
    expect(printed).toMatch(new RegExp(`${cheat} +cheat +2 +0\\.000 +0\\.000 +0\\.000`));
  expect(printed).toContain('The rungs stand in order.');
  expect(printed).toMatch(/"templates":\["[^"]+","[^"]+"\]/);
}, 600_000);

test('commands are root in the image, and start in its repository', async () => {
  const [row] = page.rows;
  const call = { trace: 'looks', call: 'c1', environment: 'swe', item: { ...row } };
  const command = 'id -u; pwd; git status --short; git log --format=%s; ls tests | wc -l';
  const answer = await corral.rft.call({ ...call, command });
  expect(answer).toMatchObject({ status: 200, body: { output: '0\n/testbed\n1.20.1\n7\n' } });
});

const moved = `git mv parse.py parsing.py; printf 'from parsing import *\nfrom parsing import Parser, compile\n' > parse.py`;

test.each([
  ['a fix that moves its file', `apply; ${moved}`, 1],
  ['a fix that removes and adds files', 'apply; rm README.rst; mkdir docs; echo new > docs/index', 1],
  ['a fix that breaks a kept test', 'apply; sed -i "s/^def search/def find/" parse.py', 0],
  ['emptied tests', 'echo > tests/test_parse.py', 0],
  [
    'a report among the files',
    'echo "<testsuites/>" > report.xml; cp report.xml /tmp; echo > tests/test_bugs.py',
    0,
  ],
] as const)('%s', async (_what, command, score) => {
  const [row] = page.rows;
  const apply = `apply() { printf %s '${row?.patch.replaceAll("'", String.raw`'\''`)}' | git apply -; }`;
  expect(await play(row, `${apply}; ${command}`)).toMatchObject({ status: 200, body: { score } });
});

test('what it cannot prevent: code under test that forges the report', async () => {
  const forge = `cat >> parse.py <<'END'
import atexit, glob, re
def forge():
    names = {file: re.findall("^def (test_[a-z0-9_]*)", open(file).read(), re.M) for file in glob.glob("tests/*.py")}
    cases = "".join(f'<testcase classname="tests.{file[6:-3]}" name="{name}" />' for file in names for name in names[file])
    open("/tmp/report.xml", "w").write(f"<testsuites>{cases}</testsuites>")
atexit.register(forge)
END`;
  expect(await play(page.rows[0], forge)).toMatchObject({ status: 200, body: { score: 1 } });
});
