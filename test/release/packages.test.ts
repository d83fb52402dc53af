import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UpSummary } from '#cli/up/summary.ts';
import { findPython } from '#infra/python/find-python.ts';
import { run, type Started } from './support/processes.ts';
import { release } from './support/release.ts';

/** A user with Node and Python and without this repository: an empty folder, and the packages of the registries. */
let folder = '';
let fleet: (Started & { readonly summary: UpSummary }) | null = null;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-packages-'));
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const { npmUrl } = release();
  const install = ['install', '--no-audit', '--no-fund', '--loglevel=error', `--registry=${npmUrl}`];
  await run('npm', [...install, 'corral-cli', 'corral-client'], { cwd: folder });
  fleet = await startFleet();
});
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** `npx corral up`, without a folder of environments. */
async function startFleet(): Promise<Started & { readonly summary: UpSummary }> {
  const up = ['corral', 'up', '--json', '--port', '0'];
  const child = spawn('npx', up, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = text(child.stderr);
  const ended = once(child, 'exit');
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(async () => Promise.reject(new Error(await said))),
  ])) as [string];
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  return { process: child, summary: JSON.parse(line) as UpSummary, stop };
}

const variables = () => ({
  ...process.env,
  CORRAL_URL: fleet?.summary.gatewayUrl,
  CORRAL_KEY: fleet?.summary.apiKey,
  CORRAL_RUN: 'run-42',
});

test('the command line from npm says its version, and runs the example without a checkout', async () => {
  const { stdout } = await run('npx', ['corral', '--version'], { cwd: folder });
  expect(stdout.trim()).toBe(release().version);
  expect(fleet?.summary.environments.map(({ name }) => name)).toEqual(['shell']);
  expect((await readdir(folder)).toSorted()).toEqual([
    '.corral',
    'node_modules',
    'package-lock.json',
    'package.json',
  ]);
});

test('the TypeScript client from npm gets a score', async () => {
  const program = `
    import { Rollout } from 'corral-client';
    const rollout = new Rollout('shell', { item: { id: 'task-7', answer: '42' } });
    const { stdout } = await rollout.exec('echo $((6 * 7))');
    console.log((await rollout.grade({ output_text: stdout.trim() })).score);
    await rollout.finish();
  `;
  await writeFile(join(folder, 'play.mjs'), program);
  const { stdout } = await run('node', ['play.mjs'], { cwd: folder, env: variables() });
  expect(stdout.trim()).toBe('1');
});

test('the preflight of the installed command line finds its fleet, and all of it in order', async () => {
  const { stdout } = await run('npx', ['corral', 'preflight', '--no-egress'], {
    cwd: folder,
    env: process.env,
  });
  expect(stdout).toContain('Everything is in order.');
});

async function emptyVenv(name: string): Promise<string> {
  const place = join(folder, name);
  await run(findPython('3.11').program, ['-m', 'venv', place]);
  return join(place, 'bin/python');
}

const pipInstall = (python: string, what: string) =>
  run(python, ['-m', 'pip', 'install', '--quiet', '--index-url', `${release().pythonUrl}/simple/`, what], {
    maxBuffer: 1 << 26,
  });

test('the Python client from the index gets a score', async () => {
  const python = await emptyVenv('client');
  await pipInstall(python, `corral==${release().version}`);
  const program = `
import asyncio, corral

async def main():
    async with corral.Rollout("shell", item={"id": "task-7", "answer": "42"}) as rollout:
        result = await rollout.exec("echo $((6 * 7))")
        print((await rollout.grade({"output_text": result.stdout.strip()})).score)

asyncio.run(main())
`;
  const { stdout } = await run(python, ['-c', program], { env: variables() });
  expect(stdout.trim()).toBe('1');
});

test('an adapter’s extra brings its framework, and the adapter can be imported and gets a score', async () => {
  const python = await emptyVenv('adapter');
  await pipInstall(python, `corral[verifiers]==${release().version}`);
  const program = `
import corral.sync
import corral.verifiers, verifiers
with corral.sync.Rollout("shell", item={"id": "task-7", "answer": "42"}) as rollout:
    print(rollout.grade({"output_text": rollout.exec("echo 42").stdout.strip()}).score)
`;
  const { stdout } = await run(python, ['-c', program], { env: variables() });
  expect(stdout.trim().split('\n').at(-1)).toBe('1');
});
