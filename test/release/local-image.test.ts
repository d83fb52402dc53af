import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { request } from 'undici';
import { run } from './support/processes.ts';
import { release } from './support/release.ts';

/** A container cannot raise limits above those of its machine, for example in a container of CI. */
const machine = ['--runtime=runc', '--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
const port = 28_700;
const name = 'corral-release-test';
const volume = 'corral-release-test';

let image = '';
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-local-'));
  image = `${release().registry}/corral-local:${release().version}`;
  await run('podman', ['pull', '--quiet', '--tls-verify=false', image]);
});
afterAll(async () => {
  await run('podman', ['volume', 'rm', '--force', volume]);
  await run('podman', ['image', 'rm', '--force', image]);
  await rm(folder, { recursive: true });
});

const podmanRun = (...args: readonly string[]) => run('podman', ['run', ...machine, ...args]);

/** Ends with an error; what it printed. */
async function refusalOf(...flags: readonly string[]): Promise<string> {
  const ended = await podmanRun('--rm', ...flags, image).then(
    () => ({ stderr: 'it started' }),
    (error: unknown) => error as { readonly stderr: string },
  );
  return ended.stderr;
}

const published = `--publish=127.0.0.1:${port}:8700`;

/** Resolves with the printed lines when the fleet is ready. */
async function start(flags: readonly string[], ...options: readonly string[]): Promise<string> {
  await podmanRun('--detach', `--name=${name}`, published, ...flags, image, ...options);
  const printed = async () => {
    const { stdout, stderr } = await run('podman', ['logs', name]);
    return stdout + stderr;
  };
  await expect.poll(printed, { timeout: 120_000 }).toContain('Ctrl-C stops everything');
  return printed();
}

const startPrivileged = () => start(['--privileged', `--volume=${volume}:/var/lib/corral`], '--no-tls');

/** A command inside, as `podman exec` of the page. */
const inside = async (...argv: readonly string[]) =>
  (await run('podman', ['exec', name, 'corral', ...argv])).stdout;

afterEach(() => run('podman', ['rm', '--force', '--time=20', '--ignore', name]));

test('with the runtime’s own flags it refuses to start, and names the missing flags', async () => {
  const said = await refusalOf();
  expect(said).toContain('this container has too few rights to make sandboxes');
  expect(said).toContain('--cap-add SYS_ADMIN and --security-opt unmask=ALL');
});

test('with one of two flags it names the other one', async () => {
  const said = await refusalOf('--cap-add=SYS_ADMIN');
  expect(said).toContain('start it with --security-opt unmask=ALL');
});

test('the first graded rollout comes within three minutes of its start, with the key that it printed', async () => {
  const startedMs = performance.now();
  const printed = await startPrivileged();
  expect(printed).toMatch(
    /isolation: +two users in each sandbox, of its own; limits of memory, processes and CPU enforced/,
  );
  const key = /first key +(\S+)/.exec(printed)?.[1] ?? '';
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await request(`http://127.0.0.1:${port}/rft/shell/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  };
  const rollout = { trace_id: 'trace_1', item: { id: 'task-1', answer: '42' } };
  const call = {
    id: 'fc_1',
    call_id: 'c1',
    name: 'shell',
    arguments: '{"command":"echo $((6 * 7)); whoami"}',
  };
  expect(await post('tools/shell', { ...rollout, ...call })).toMatchObject({
    status: 200,
    body: { output: expect.stringMatching(/^42\n/) as string },
  });
  const sample = { output_text: '42', output_tools: [{ id: 'c1' }] };
  expect(await post('grade', { ...rollout, sample })).toMatchObject({ status: 200, body: { score: 1 } });
  const tookS = (performance.now() - startedMs) / 1000;
  process.stdout.write(`corral-local: first graded rollout after ${tookS.toFixed(1)} s\n`);
  expect(tookS).toBeLessThan(180);
  expect(await inside('keys', 'create', 'trainer', '--scope', 'rft:tools')).toContain('corral_trainer_');
  const found = await inside('doctor');
  expect(found).toContain('/var/lib/corral');
  expect(found).toMatch(/images of registries +skopeo, zstd/);
  expect(printed).not.toContain('Images of registries and archives cannot be used');
});

test('a second start on the same volume prints no key', async () => {
  expect(await startPrivileged()).not.toContain('first key');
});

test('with the flags that the page names instead of --privileged, it starts with TLS and says that limits do not hold', async () => {
  expect(await start(['--cap-add=SYS_ADMIN', '--security-opt=unmask=ALL'])).toMatch(
    /isolation: +two users .* not enforced/,
  );
  const certificate = join(folder, 'certificate.pem');
  await run('podman', ['cp', `${name}:/var/lib/corral/tls/certificate.pem`, certificate]);
  const healthz = `https://localhost:${port}/healthz`;
  await run('curl', ['--silent', '--fail', '--cacert', certificate, healthz]);
});

test('as another user than root it starts, and says that all processes of a sandbox are one user', async () => {
  const flags = ['--user=1000', '--security-opt=seccomp=unconfined', '--security-opt=unmask=ALL'];
  expect(await start(flags, '--no-tls')).toMatch(/isolation: +single-user .* not enforced/);
});
