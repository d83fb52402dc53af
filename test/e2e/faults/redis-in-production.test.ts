import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { type RedisProxy, standBeforeRedis } from '#test/support/redis-proxy.ts';

/** The score is how often commands have run. */
const environments = {
  shell: `
name: shell
sandbox: { image: host, disk: 16Mi, processes: 64 }
tools: { shell: { builtin: shell, timeout: 60s } }
grader: { kind: command, command: [sh, -c, 'as-policy sh -c "wc -l < log" > "$CORRAL_SCORE_FILE"'], on_exit: discard, on_timeout: discard, on_out_of_memory: discard, on_broken: discard }
pool: { min_ready: 2, max: 8 }
`,
};
/** What an operator is promised. */
const backWithinMs = 10_000;
/** A launch that was under way then is begun again when its lock is over, and a new rollout may have to wait for it. */
const launchedAgainMs = 10_000;

let corral: FleetOfTest;
let proxy: RedisProxy;
let successor: PrivateRedis;
let real: string;
let secrets: string;
let passwordFile: string;
beforeAll(async () => {
  secrets = await mkdtemp(join(tmpdir(), 'corral-secrets-'));
  passwordFile = join(secrets, 'password');
  await writeFile(passwordFile, '');
  process.env['CORRAL_REDIS_PASSWORD_FILE'] = passwordFile;
  corral = await startFleetOfTest({ environments });
  successor = await startRedis();
  const socket = join(corral.fleet.stateDir, 'redis', 'redis.sock');
  proxy = await standBeforeRedis(socket);
  real = `${socket}.real`;
  // From here on they speak to Redis through the proxy.
  await Promise.all([corral.killPart('gateway'), corral.killPart('controller')]);
});
afterAll(async () => {
  await proxy.close();
  await corral.stop();
  await successor.stop();
  delete process.env['CORRAL_REDIS_PASSWORD_FILE'];
  await rm(secrets, { recursive: true });
});

async function inRedis<Result>(socket: string, use: (redis: Redis) => Promise<Result>): Promise<Result> {
  const redis = new Redis(socket);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

const call = (trace: string, id: string, first = '') =>
  corral.rft.call({ trace, call: id, command: `${first} echo ${id} >> log; cat log` });
const said = (...ids: readonly string[]) => ({
  status: 200,
  body: { output: ids.map((id) => `${id}\n`).join('') },
});
const grade = (trace: string, ...ids: readonly string[]) =>
  corral.rft.grade({ trace, sample: { output_tools: ids.map((id) => ({ id })) } });

/** Redis of the fleet becomes a replica under open connections; what has its address from then on is the successor. */
async function demote(): Promise<void> {
  const [port, portAfter] = [await freePort(0), await freePort(0)];
  await inRedis(real, (redis) => redis.config('SET', 'port', String(port)));
  await inRedis(successor.socket, async (redis) => {
    await redis.replicaof('127.0.0.1', port);
    await expect.poll(() => redis.role()).toContain('connected');
    await redis.config('SET', 'port', String(portAfter));
    proxy.redirect(successor.socket);
    await redis.replicaof('NO', 'ONE');
  });
  await inRedis(real, (redis) => redis.replicaof('127.0.0.1', portAfter));
}

async function empty(): Promise<void> {
  await inRedis(real, async (redis) => {
    await redis.multi().flushall().function('FLUSH').exec();
    for (const type of ['normal', 'pubsub'])
      await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  });
}

/** As a rotation does it: in Redis first, and in the mounted Secret a while later. Of the successor, which serves by now. */
async function changePassword(): Promise<void> {
  await inRedis(successor.socket, async (redis) => {
    await redis.config('SET', 'requirepass', 'another');
    for (const type of ['normal', 'pubsub'])
      await redis.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  });
  await sleep(3_000);
  await writeFile(passwordFile, 'another\n');
}

test.each([
  { fault: 'silent', strike: async () => proxy.silence() },
  { fault: 'emptied', strike: empty },
  { fault: 'demoted', strike: demote },
  { fault: 'given another password', strike: changePassword },
])(
  'a Redis that was $fault while rollouts ran: served again within 10 s, no answer is gone, nothing ran twice, all are scored as they were',
  async ({ fault, strike }) => {
    const named = fault.replaceAll(' ', '_');
    const [idle, busy, fresh] = [`${named}_idle`, `${named}_busy`, `${named}_fresh`] as const;
    const first = await call(idle, 'c1');
    expect(first).toMatchObject(said('c1'));
    expect(await call(busy, 'c1')).toMatchObject(said('c1'));
    const opening = { rollout_id: `${named}_native`, environment: 'shell' };
    expect((await corral.native.post('/v1/rollouts', opening)).status).toBe(201);
    const native = { call_id: 'n1', name: 'shell', arguments: { command: 'true' } };
    const path = `/v1/rollouts/${opening.rollout_id}`;
    expect(await corral.native.post(`${path}/calls`, native)).toMatchObject({ status: 200 });
    const running = call(busy, 'c2', 'sleep 3;');
    await expect
      .poll(async () => (await corral.native.get(`/v1/rollouts/${busy}`)).body)
      .toMatchObject({ in_flight: 1 });

    await strike();
    const beganMs = performance.now();
    expect(await call(idle, 'c2')).toMatchObject(said('c1', 'c2'));
    expect(performance.now() - beganMs).toBeLessThan(backWithinMs);
    expect(await call(fresh, 'c1')).toMatchObject(said('c1'));
    expect(performance.now() - beganMs).toBeLessThan(backWithinMs + launchedAgainMs);

    expect(await call(idle, 'c1')).toEqual(first);
    expect(await running).toMatchObject(said('c1', 'c2'));
    expect(await call(busy, 'c2', 'sleep 3;')).toMatchObject(said('c1', 'c2'));
    expect(await corral.native.get(path)).toMatchObject({
      body: { closed_by: null, taint: null },
    });
    for (const trace of [idle, busy])
      expect(await grade(trace, 'c1', 'c2')).toMatchObject({ status: 200, body: { score: 2 } });
    expect(await grade(fresh, 'c1')).toMatchObject({ status: 200, body: { score: 1 } });
  },
  60_000,
);
