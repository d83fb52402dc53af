import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleServices } from '#infra/services/bundle-services.ts';
import { connectFleetState } from '#src/adapters/redis/fleet-state.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';

/*
 * A body of a megabyte can be thirty times that once it is parsed, and bodies are held while their rollout waits for a
 * sandbox. No controller runs here, so every rollout waits.
 */

const mebibyte = 1024 * 1024;
const heapMebibytes = 512;
/** As much of the heap as an operator would give it. */
const heldBytes = 192 * mebibyte;
const floods = 130;
/** Whoever has no answer by then is held; refusals come as soon as the body is read. */
const heldMs = 12_000;
const values = `[${'{},'.repeat(330_000)}{}]`;

const environment = `
name: judged
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh, -c, 'exit 0'], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }
`;

let folder: string;
let redis: PrivateRedis;
let gateway: ChildProcess;
let url: string;
const over = new AbortController();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-heap-'));
  await writeFile(join(folder, 'judged.yaml'), environment);
  redis = await startRedis();
  const state = await connectFleetState({
    url: redis.socket,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: () => undefined,
  });
  await state.adoptRedis('empty');
  await state.close();
  const main = join((await bundleServices()).dir, 'gateway.mjs');
  gateway = spawn(process.execPath, [`--max-old-space-size=${heapMebibytes}`, main], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {
      CORRAL_LISTEN: '127.0.0.1:0',
      CORRAL_FLEET: 'test',
      CORRAL_REDIS: redis.socket,
      CORRAL_ENVIRONMENTS: folder,
      CORRAL_FLEET_KEY_FILE: join(folder, 'fleet.key'),
      CORRAL_EVENT_LOG_DIR: join(folder, 'events'),
      CORRAL_DRAIN_DELAY_MS: '0',
      CORRAL_DEVELOPMENT_KEY: 'secret',
      CORRAL_EXIT_WITH_PARENT: '1',
      CORRAL_MAX_HELD_BODY_BYTES: String(heldBytes),
    },
  });
  for await (const line of createInterface({ input: gateway.stderr ?? process.stdin })) {
    const said = JSON.parse(line) as { readonly url?: string };
    if (said.url === undefined) continue;
    url = said.url;
    break;
  }
  gateway.stderr?.resume();
});
afterAll(async () => {
  over.abort();
  const exited = once(gateway, 'exit');
  if (gateway.exitCode === null && gateway.signalCode === null) {
    gateway.kill('SIGKILL');
    await exited;
  }
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The status, or `held` while there is none. */
function send(path: string, body: string): Promise<number | 'held'> {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  const answered = fetch(`${url}${path}`, { method: 'POST', headers, body, signal: over.signal });
  // Held ones are let go when the test ends.
  answered.catch(() => undefined);
  const held = new Promise<'held'>((resolve) => setTimeout(resolve, heldMs, 'held'));
  return Promise.race([answered.then(({ status }) => status), held]);
}

async function flood(
  path: string,
  bodyOf: (trace: string) => string,
): Promise<ReadonlyMap<number | 'held', number>> {
  const told = new Map<number | 'held', number>();
  const answers: Promise<number | 'held'>[] = [];
  for (let index = 0; index < floods; index += 1) {
    answers.push(send(path, bodyOf(`${path.length}_${index}`)));
    // One after another, as a pool of connections would.
    if (index % 8 === 7) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const answer of await Promise.all(answers)) told.set(answer, (told.get(answer) ?? 0) + 1);
  return told;
}

const lives = async () => (await fetch(`${url}/healthz`)).status;

it('130 samples of 330,000 values, held until they can be graded: all are, and the gateway lives', async () => {
  const told = await flood(
    '/rft/judged/grade',
    (trace) => `{"trace_id":"${trace}","sample":{"x":${values}}}`,
  );
  expect([...told.keys()]).toEqual(['held']);
  expect(await lives()).toBe(200);
});

it('130 dataset rows of 330,000 values: some are held, the others told gateway_overloaded, and the gateway lives', async () => {
  const told = await flood(
    '/rft/judged/tools',
    (trace) =>
      `{"id":"f","call_id":"c","name":"shell","arguments":"{\\"command\\":\\"true\\"}","trace_id":"${trace}","item":{"x":${values}}}`,
  );
  expect(new Set(told.keys())).toEqual(new Set([503, 'held']));
  expect(await lives()).toBe(200);
  expect(gateway.exitCode).toBeNull();
});
