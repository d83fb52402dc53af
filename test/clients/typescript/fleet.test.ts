import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  Client,
  Discarded,
  Misuse,
  Refused,
  RequirementsUnmet,
  Rollout,
} from '#clients/typescript/src/index.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { append, environments, trainerOn } from './trainer.ts';

/*
 * The client on a real fleet, in the scenarios of the Python client: set-up that is lost; what the policy does to itself; the job's own
 * mistakes; the end of the trainer.
 */

const root = join(import.meta.dirname, '../../..');
let corral: FleetOfTest;
beforeAll(async () => void (corral = await startFleetOfTest({ environments })));
afterAll(() => corral.stop());

const { client, open, view, killSandbox, inFlight } = trainerOn(() => corral);
const utf8 = (text: string) => new TextEncoder().encode(text);

describe('a rollout', () => {
  it('survives a gateway that is killed in a command, which runs once', async () => {
    await using rollout = open('counting');
    await append(rollout, 3);
    const call = rollout.exec('echo x >> calls; sleep 4; cat calls');
    await inFlight(rollout);
    await corral.killPart('gateway');
    expect((await call).stdout).toBe('x\n'.repeat(4));
    expect((await rollout.grade()).score).toBe(4);
  });

  it('attaches to work that is longer than a request', async () => {
    await using rollout = open('counting', { client: client(1) });
    expect((await rollout.exec('echo x >> calls; sleep 4; cat calls')).stdout).toBe('x\n');
    await using graded = open('slow-grader', { client: client(1) });
    await graded.exec('echo x >> calls');
    expect((await graded.grade()).score).toBe(1);
  });

  it('has no score if a deadline of its trainer ends in line, and its command never runs', async () => {
    await using holder = open('narrow');
    await holder.exec('true');
    await using rollout = open('narrow', { item: { answer: '42' } });
    await rollout.open();
    const stop = new AbortController();
    const call = rollout.exec('echo 42 > answer', { signal: stop.signal });
    const over = expect(call).rejects.toThrow('too late');
    stop.abort(new Error('too late'));
    await over;
    await expect(rollout.grade({ output_text: 'no' })).rejects.toMatchObject({
      name: 'Unavailable',
      code: 'never_began',
    });
    expect((await view(rollout.rolloutId))['calls']).toMatchObject([
      { outcome: 'cancelled', admitted: 'no' },
    ]);
  });

  it('is graded if a deadline of its trainer ends while its command runs', async () => {
    await using rollout = open('counting');
    await append(rollout, 2);
    const stop = new AbortController();
    const call = rollout.exec('sleep 300', { timeoutS: 600, signal: stop.signal });
    const over = expect(call).rejects.toThrow('too late');
    await inFlight(rollout);
    stop.abort(new Error('too late'));
    await over;
    expect((await rollout.grade()).score).toBe(2);
  });

  it('returns what the policy did to itself, and is scored', async () => {
    await using rollout = open('counting');
    const failed = await rollout.call('shell', { command: 'echo x >> calls; exit 3' });
    expect([failed.outcome, failed.exitCode]).toEqual(['completed', 3]);
    const killed = await rollout.exec('kill -9 $$');
    expect([killed.signal, killed.exitCode]).toEqual(['SIGKILL', 137]);
    const slow = await rollout.exec('echo y; sleep 60', { timeoutS: 1 });
    expect([slow.timedOut, slow.exitCode, slow.returnCode, slow.stdout]).toEqual([true, null, 124, 'y\n']);
    const odd = ['{"command": ', { command: Number.NaN }, { command: 7n }, { command: 7 }];
    for (const written of [...odd, 'x'.repeat(2_000_000)])
      expect(await rollout.call('shell', written)).toMatchObject({
        outcome: 'refused',
        code: 'bad_arguments',
      });
    expect(await rollout.call('no_such_tool', {})).toMatchObject({ code: 'unknown_tool', returnCode: 126 });
    const half = await rollout.call('shell', { command: "echo '\ud800'" });
    expect(half.stdout).toBe('\ufffd\n');
    await expect(rollout.exec('echo \0')).rejects.toThrow(Refused);
    await expect(rollout.exec('x'.repeat(2_000_000))).rejects.toThrow(Refused);
    const cut = await rollout.exec('seq 1 200000', { maxOutputBytes: 1000 });
    expect(cut.stdout).toMatch(/\n\[stdout was cut: only its head and tail are above\]\n$/);
    expect((await rollout.grade()).score).toBe(1);
    expect(await rollout.verdict()).toMatchObject({ scorable: true, score: 1 });
  });

  it('is scored although its policy broke its sandbox as root', async () => {
    await using rollout = open('rooted', { item: { answer: '42' } });
    const broke = await rollout.exec('kill -9 1; kill -9 -1');
    expect([broke.code, broke.exitCode, broke.returnCode]).toEqual(['sandbox_broken', null, 137]);
    expect((await rollout.grade({ output_text: '41' })).score).toBe(0);
  });

  it('ends a followed command whose policy broke its sandbox as root, and is scored', async () => {
    await using rollout = open('rooted', { item: { answer: '42' } });
    const running = rollout.stream('echo begun; kill -9 1; kill -9 -1', { openStdin: true });
    for await (const piece of running) expect(piece.kind).toBe('output');
    expect((await running.result()).code).toBe('sandbox_broken');
    expect(await running.write('x')).toBe(false);
    expect((await rollout.grade({ output_text: '41' })).score).toBe(0);
  });

  it('moves bytes as they are, and refuses files that the policy removed', async () => {
    await using rollout = open('counting');
    const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256);
    for (const path of ['a b%2Fd?e#f.bin', '/tmp/absolute.bin', 'ü中.bin']) {
      await rollout.write(path, bytes);
      expect(Buffer.compare(await rollout.read(path), bytes)).toBe(0);
    }
    await rollout.exec(['mkdir', 'folder']);
    for (const [path, errno] of [
      ['none', 'ENOENT'],
      ['folder', 'EISDIR'],
    ] as const)
      await expect(rollout.read(path)).rejects.toMatchObject({ name: 'Refused', evidence: { errno } });
    await expect(rollout.read('/tmp/absolute.bin', 1000)).rejects.toThrow('more than 1000 bytes');
    await expect(rollout.write('folder', 'x')).rejects.toThrow(Refused);
    expect(rollout.discarded).toBeNull();
  });

  it('gives bytes to a command and has its output as bytes', async () => {
    await using rollout = open('counting');
    const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
    const echoed = await rollout.exec("cat; printf '\\377' >&2", { stdin: bytes, binary: true });
    expect([echoed.stdoutBytes, echoed.stderrBytes]).toEqual([bytes, Uint8Array.of(255)]);
    expect(echoed.stderr).toBe('\ufffd');
    const large = "head -c 3000000 /dev/zero | tr '\\0' '\\377'";
    const whole = await rollout.exec(large, { binary: true, maxOutputBytes: 10_000_000 });
    expect([whole.stdoutBytes?.length, whole.stdoutBytes?.every((byte) => byte === 255)]).toEqual([
      3_000_000,
      true,
    ]);
    const cut = await rollout.exec(large, { binary: true, maxOutputBytes: 100 });
    expect([cut.stdoutBytes?.length, cut.truncated.stdout]).toEqual([100, true]);
    expect((await rollout.exec('cat', { stdin: 'text' })).stdoutBytes).toBeNull();
    const nowhere = await rollout.exec('true', { cwd: '/nowhere', binary: true });
    expect([nowhere.outcome, nowhere.stdoutBytes?.length]).toEqual(['refused', 0]);
  });

  it('follows a command while it runs, and answers it on stdin', async () => {
    await using rollout = open('counting');
    const echo = 'while read line; do echo x >> calls; echo "got $line"; done; echo bye >&2; exit 3';
    const running = rollout.stream(echo, { openStdin: true });
    const pieces = running[Symbol.asyncIterator]();
    for (const word of ['one', 'two']) {
      expect(await running.write(`${word}\n`)).toBe(true);
      const { value } = await pieces.next();
      expect(value).toMatchObject({ kind: 'output', stream: 'stdout', data: utf8(`got ${word}\n`) });
    }
    await running.endStdin();
    expect(await pieces.next()).toMatchObject({ value: { stream: 'stderr', data: utf8('bye\n') } });
    expect(await pieces.next()).toMatchObject({ done: true });
    expect(await running.result()).toMatchObject({ exitCode: 3, stdout: 'got one\ngot two\n' });
    expect(await running.write('more')).toBe(false);
    expect((await rollout.grade()).score).toBe(2);
  });

  it('goes on with a stream whose gateway is killed, and the command runs once', async () => {
    await using rollout = open('counting', { client: client(2) });
    const running = rollout.stream('echo x >> calls; for i in 1 2 3; do echo $i; read _; done', {
      openStdin: true,
    });
    const seen: string[] = [];
    let killing: Promise<unknown> | null = null;
    for await (const piece of running) {
      seen.push(piece.kind === 'output' ? Buffer.from(piece.data).toString() : piece.kind);
      killing ??= corral.killPart('gateway');
      await killing;
      await running.write('\n');
    }
    expect(seen.join('')).toBe('1\n2\n3\n');
    expect((await rollout.grade()).score).toBe(1);
  });

  it('follows a terminal whose gateway is killed, to the end of its program', async () => {
    await using rollout = open('debugging', { item: { answer: 'right' } });
    const command = 'echo before; stty -echo; while read line && [ $line != end ]; do echo "got $line"; done';
    await rollout.call('terminal_open', { command, wait_for: 'before' });
    const seen: string[] = [];
    let typed: Promise<unknown> | null = null;
    const type = async () => {
      await corral.killPart('gateway');
      await rollout.call('terminal_send', { terminal: 1, text: 'one\n', wait_for: 'got one' });
      await rollout.call('terminal_send', { terminal: 1, text: 'end\n' });
    };
    const running = rollout.followTerminal(1);
    for await (const piece of running) {
      seen.push(piece.kind === 'output' ? Buffer.from(piece.data).toString() : piece.kind);
      typed ??= type();
    }
    await typed;
    expect(seen.join('')).toBe('before\r\ngot one\r\n');
    expect(await running.result()).toMatchObject({ outcome: 'completed', exitCode: 0 });
    const missing = await rollout.followTerminal(7).result();
    expect(missing).toMatchObject({ exitCode: 1, stderr: 'Error: there is no terminal 7; open: 1\n' });
    expect((await rollout.grade({ output_text: 'right' })).score).toBe(1);
    await using without = open('counting');
    await expect(without.followTerminal(1).start()).rejects.toMatchObject({
      name: 'Misuse',
      message: expect.stringContaining('sessions: [terminal]'),
    });
  });

  it('tells a reader that comes too late how much it misses', async () => {
    await using rollout = open('counting');
    const running = rollout.stream('printf first; head -c 8000000 /dev/zero; printf last', {
      maxOutputBytes: 1000,
    });
    await running.result();
    const pieces = await Array.fromAsync(running);
    expect(pieces).toMatchObject([
      { kind: 'output', at: 0 },
      { kind: 'gap', at: 500, size: 8_000_009 - 1000 },
      { kind: 'output', at: 8_000_009 - 500 },
    ]);
  });

  it('stops a followed command that is left before its end, and loses with its sandbox', async () => {
    await using rollout = open('counting');
    const left = rollout.stream('echo begun; sleep 60', { timeoutS: 90 });
    for await (const _ of left) break;
    await left[Symbol.asyncDispose]();
    expect((await left.result()).outcome).toBe('cancelled');
    const running = rollout.stream('echo begun; sleep 60', { timeoutS: 90 });
    await expect(
      (async () => {
        for await (const _ of running) await killSandbox(rollout);
      })(),
    ).rejects.toMatchObject({ name: 'Discarded', code: 'sandbox_lost' });
    await expect(rollout.grade()).rejects.toThrow(Discarded);
  });

  it('is refused by name if there is less than its task requires', async () => {
    const requires = { memory_bytes: 32 * 1024 ** 4 };
    await using rollout = open('own-score', { requires });
    const announced = client().prewarm('own-score', { count: 1, requires });
    await expect(announced).rejects.toThrow(RequirementsUnmet);
    await expect(rollout.open()).rejects.toMatchObject({ requirement: 'memory', fix: /larger machine/ });
    await expect(rollout.score(1)).rejects.toThrow(RequirementsUnmet);
    await using other = open('own-score');
    await other.refuse('reward', { wanted: 'a reward', given: 'x'.repeat(3_000), fix: 'correct the task' });
    await expect(other.exec('true')).rejects.toThrow(RequirementsUnmet);
    expect(await other.verdict()).toMatchObject({ scorable: false, blame: 'caller' });
  });

  it.each([
    ['shell@1', 'wrong', 'unauthorized'],
    ['nothing', null, 'unknown_environment'],
  ])('of %s with the key %s stops the job: %s', async (environment, key, code) => {
    const { gatewayUrl, apiKey } = corral.fleet;
    const wrong = new Client({ url: gatewayUrl, key: key ?? apiKey, run: 'development' });
    await using rollout = new Rollout(environment, { client: wrong });
    for (let tries = 0; tries < 2; tries += 1)
      await expect(rollout.exec('true')).rejects.toMatchObject({ name: 'Misuse', code });
    await expect(rollout.grade()).rejects.toThrow(Misuse);
  });

  it('lives longer than it may be idle while its trainer thinks', async () => {
    await using rollout = open('brief', { item: { answer: '42' } });
    await rollout.exec('echo x > kept');
    const leaseUntilMs = async () => Date.parse(String((await view(rollout.rolloutId))['lease_until']));
    // The idle time of its environment is 8 s: without heartbeats it would have ended by then.
    await expect.poll(leaseUntilMs).toBeGreaterThan((await leaseUntilMs()) + 8_000);
    expect(Buffer.from(await rollout.read('kept')).toString()).toBe('x\n');
  });
});

const epoch = async ({ rolloutId }: Rollout) => (await view(rolloutId))['epoch'];

const lose = async (rollout: Rollout) => {
  const first = await epoch(rollout);
  await killSandbox(rollout);
  await expect.poll(() => epoch(rollout)).not.toEqual(first);
};

describe('set-up', () => {
  it('is replayed in the next sandbox if the first one dies before the policy acts', async () => {
    await using rollout = open('counting');
    await rollout.write('line', Uint8Array.of(120, 10, 255, 10), { setup: true });
    await rollout.exec(['sh', '-c', 'cat line - > calls'], { stdin: 'x\n', setup: true });
    await rollout.call('shell', { command: 'echo x >> calls' }, { setup: true });
    await lose(rollout);
    await append(rollout, 1);
    expect(await rollout.read('calls')).toEqual(new Uint8Array(Buffer.from('x\n\xff\nx\nx\nx\n', 'latin1')));
    expect((await rollout.grade()).score).toBe(5);
    expect(await view(rollout.rolloutId)).toMatchObject({ heals: 1 });
  });

  it('has no score if its replay has other output', async () => {
    await using rollout = open('counting');
    await rollout.exec('cat /proc/sys/kernel/random/uuid', { setup: true });
    await lose(rollout);
    await expect(rollout.exec('true')).rejects.toMatchObject({ name: 'Discarded', code: 'sandbox_lost' });
    await expect(rollout.grade()).rejects.toThrow(Discarded);
  });

  it('ends with the first call that is not marked: a later mark is a mistake, and changes nothing', async () => {
    await using rollout = open('counting');
    await rollout.exec('true', { setup: true });
    await append(rollout, 1);
    await expect(rollout.exec('rm calls', { setup: true, probe: true })).rejects.toMatchObject({
      name: 'Misuse',
      code: 'invalid_request',
    });
    await expect(rollout.write('calls', '', { setup: true })).rejects.toThrow(Misuse);
    expect(Buffer.from(await rollout.read('calls')).toString()).toBe('x\n');
  });
});

const trainersEnv = () => ({
  ...process.env,
  CORRAL_URL: corral.fleet.gatewayUrl,
  CORRAL_KEY: corral.fleet.apiKey,
  CORRAL_RUN: 'development',
});

describe('the packed package', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-client-'));
    const into = join(folder, 'node_modules/corral-client');
    await mkdir(into, { recursive: true });
    const pack = ['pack', '--silent', '--pack-destination', folder, join(root, 'clients/typescript')];
    const { stdout } = await promisify(execFile)('npm', pack, { cwd: folder });
    await promisify(execFile)('tar', [
      '-xf',
      join(folder, stdout.trim()),
      '-C',
      into,
      '--strip-components=1',
    ]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('plays the first lines of its page', async () => {
    const page = readFileSync(join(root, 'docs/clients/typescript.md'), 'utf8');
    const [, lines = ''] = /```ts\n([^`]*)```/.exec(page) ?? [];
    await writeFile(
      join(folder, 'page.mts'),
      `${lines}\nconsole.log(reward);\n`.replace("'shell'", "'brief'"),
    );
    const { stdout } = await promisify(execFile)(process.execPath, ['page.mts'], {
      cwd: folder,
      env: trainersEnv(),
    });
    expect(stdout).toBe('1\n');
  });

  it('lets the compiler check calls by the types that it prints of an environment', async () => {
    const command = join(folder, 'node_modules/corral-client/dist/tool-types-command.js');
    const { stdout } = await promisify(execFile)(process.execPath, [command, 'brief'], {
      env: trainersEnv(),
    });
    expect(stdout).toContain('readonly "shell": { readonly "command": string };');
    const program = `${stdout}
import { Rollout } from 'corral-client';
const rollout = new Rollout<Tools>('brief');
await rollout.call('shell', { command: 'true' });
// @ts-expect-error there is no such argument
await rollout.call('shell', { cmd: 'true' });
// @ts-expect-error there is no such tool
await rollout.call('shel', { command: 'true' });
`;
    await writeFile(join(folder, 'typed.mts'), program);
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', ...types];
    const check = [join(root, 'node_modules/.bin/tsc'), ...options, 'typed.mts'];
    await promisify(execFile)(process.execPath, check, { cwd: folder });
  });

  it.each([
    ['SIGTERM', 'await new Promise(() => setInterval(() => {}, 1000));', null, 'SIGTERM'],
    ['SIGINT', 'await new Promise(() => setInterval(() => {}, 1000));', null, 'SIGINT'],
    ['process.exit', 'process.exit(3);', 3, null],
    ['an exception', 'throw new Error("mine");', 1, null],
  ])('leaves no rollout behind after %s', async (how, ending, code, signal) => {
    const id = `left-${how.replaceAll(/\W/g, '-')}`;
    const program = `
import { Rollout } from 'corral-client';
const rollout = new Rollout('counting', { rolloutId: '${id}' });
await rollout.exec('true');
console.log('ready');
${ending}`;
    await writeFile(join(folder, `${id}.mjs`), program);
    const child = spawn(process.execPath, [`${id}.mjs`], {
      cwd: folder,
      env: trainersEnv(),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    if (signal !== null) child.kill(signal as NodeJS.Signals);
    expect(await ended).toEqual([code, signal]);
    expect(await view(id)).toMatchObject({ closed_by: 'deleted' });
  });
});
