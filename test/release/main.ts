/**
 * `npm run test:release`: builds the release, publishes it to registries on this machine, installs it from there and plays rollouts:
 * first with podman, Node and Python on this machine, then with Helm on a cluster. The last line counts all tests.
 * `--no-cluster` skips the cluster, `--cluster-only` everything else. Other arguments go to vitest and choose files.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { buildPreviousImages } from '#infra/images/previous.ts';
import { repository } from '#infra/payload/repository.ts';
import { publishHere } from './support/publish-here.ts';
import { releaseVariable } from './support/release.ts';

const args = process.argv.slice(2);
const own = new Set(['--no-cluster', '--cluster-only']);
const others = args.filter((argument) => !own.has(argument));
const say = (line: string) => void process.stderr.write(`release: ${line}\n`);

type Counts = { readonly passed: number; readonly failed: number };

/** Runs a suite, prints its output, and reads its counts. A suite that prints no counts has failed. */
async function play(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  const child = spawn(process.execPath, argv, { cwd: repository, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let counts: Counts = { passed: 0, failed: 1 };
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`);
    const found = /^(\d{1,6}) passed, (\d{1,6}) failed/.exec(line);
    if (found !== null) counts = { passed: Number(found[1]), failed: Number(found[2]) };
  }
  const [code] = (await ended) as [number | null];
  return code === 0 || counts.failed > 0 ? counts : { ...counts, failed: counts.failed + 1 };
}

const vitest = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--project=release',
  '--reporter=default',
  '--reporter=./tools/count-reporter.ts',
];

try {
  const published = await publishHere(say);
  const { release } = published;
  const env = { ...process.env, [releaseVariable]: JSON.stringify(release) };
  try {
    const played: Counts[] = [];
    if (!args.includes('--cluster-only')) played.push(await play([...vitest, ...others], env));
    const onCluster = [join(repository, 'infra/cluster/test.ts'), 'release-cluster'];
    if (!args.includes('--no-cluster')) {
      say('images of the previous version');
      await buildPreviousImages();
      played.push(await play(onCluster, env));
    }
    const passed = played.reduce((sum, one) => sum + one.passed, 0);
    const failed = played.reduce((sum, one) => sum + one.failed, 0);
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
    process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  } finally {
    await published.stop();
  }
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
