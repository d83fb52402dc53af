import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeCallSummary, fakeRollout } from '#test/fakes/rollout-record.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { Failure } from '../failure/failure.ts';
import { repeatedClaim } from '../claiming/claim-request.ts';
import { bootId, callId, sandboxId } from '../model/ids.ts';
import type { RecordedCall } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import { Deadline } from '../waiting/deadline.ts';
import { exchange, type ExchangeDeps } from './exchange.ts';
import { trackedCall } from './plan-call.ts';
import { productionTimings } from '../model/timings.ts';
import type { WakeUp } from '../ports/fleet/wake-ups.ts';
import type { Running } from './work.ts';

const clock = createFakeClock();
const deps = {
  calls: { lookup: () => Promise.resolve(null) },
  claims: { find: () => Promise.resolve<RolloutRecord | null>(fakeRollout()) },
  lifecycle: { lose: () => Promise.resolve({ kind: 'none' } as const) },
  clock,
  random: createFakeRandom(),
  timings: productionTimings,
  wakes: { on: () => () => undefined },
};

function running(ask: Running['ask']): Running {
  const rollout = fakeRollout();
  const environment = fakeEnvironment();
  const claim = repeatedClaim(rollout, environment, null);
  const known = { key: rollout.key, claim, environment, known: true, keyId: null };
  const work = trackedCall(known, callId('c1'), 'shell', 'digest');
  return { work, rollout, timeoutMs: 1_000, waitedMs: 0, sender: 'try-1', ask, askAgain: ask };
}

const untilMs = 31_000;

async function exchanged(ask: Running['ask'], forMs: number, world: ExchangeDeps = deps) {
  const exchanging = exchange(world, running(ask), Deadline.in(clock, untilMs));
  await clock.advance(forMs);
  return exchanging;
}

/** A daemon whose calls wait behind one another. */
const busyFor = (durationMs: number): Running['ask'] => {
  const readyAtMs = clock.monotonicMs() + durationMs;
  return async (waitMs) => {
    await clock.sleep(Math.min(waitMs, Math.max(0, readyAtMs - clock.monotonicMs())));
    return clock.monotonicMs() >= readyAtMs ? answering({ stdout: 'ran' }) : 'running';
  };
};

test('a call that waits behind others in its sandbox for far longer than its own time has a known outcome', async () => {
  expect(await exchanged(busyFor(400_000), 500_000)).toMatchObject({
    kind: 'answered',
    answer: { stdout: { head: 'ran' } },
  });
});

test('a sandbox that falls silent after it has answered: unknown, half a minute after its last word at the latest', async () => {
  const startMs = clock.monotonicMs();
  const diesAtMs = startMs + 200_000;
  const ask: Running['ask'] = async (waitMs) => {
    await clock.sleep(waitMs);
    if (clock.monotonicMs() < diesAtMs) return 'running';
    throw new LinkError({ kind: 'maybe_sent', detail: 'connection reset' });
  };
  const exchanging = exchange(deps, running(ask), Deadline.in(clock, untilMs));
  await clock.advance(265_000);
  expect(await exchanging).toMatchObject({ kind: 'unknown' });
});

const silent: Running['ask'] = async () => {
  await clock.sleep(1_000);
  throw new LinkError({ kind: 'not_sent', detail: 'connection refused' });
};

test('a sandbox that took no connection until the deadline: the call was never sent', async () => {
  expect(await exchanged(silent, untilMs + 3_000)).toMatchObject({ kind: 'unsent' });
});

const absent = () =>
  Promise.reject(
    new LinkError({ kind: 'refused', status: 404, code: 'unknown_call', message: 'no such call' }),
  );

test('a call that is attached to while another gateway still sends it: its journal is asked again until it has come', async () => {
  const comesAtMs = clock.monotonicMs() + 3_000;
  const ask: Running['ask'] = async () =>
    clock.monotonicMs() < comesAtMs ? absent() : answering({ stdout: 'ran' });
  expect(await exchanged(ask, 4_000)).toMatchObject({ kind: 'answered' });
});

test('one that never comes is told to be unknown after seconds, not after its own time', async () => {
  const exchanging = exchange(deps, running(absent), Deadline.in(clock, untilMs));
  const told = expect(exchanging).rejects.toMatchObject({ code: 'unknown_call' });
  await clock.advance(8_000);
  await told;
});

/** As after a failover: the call is not known, and its rollout has another sandbox. */
const movedOn = {
  ...deps,
  claims: {
    find: () =>
      Promise.resolve(fakeRollout({ epoch: { sandbox: sandboxId('another'), boot: bootId('another') } })),
  },
};

test('a sandbox that took no connection, while its rollout was given another: never sent, and told at once', async () => {
  expect(await exchanged(silent, 2_000, movedOn)).toMatchObject({ kind: 'unsent' });
});

const cut: Running['ask'] = () =>
  Promise.reject(new LinkError({ kind: 'maybe_sent', detail: 'connection reset' }));

test('a sandbox that fell silent after it was sent the call, while its rollout was given another: unknown, and told at once', async () => {
  expect(await exchanged(cut, 2_000, movedOn)).toMatchObject({ kind: 'unknown' });
});

/** Another life of the sandbox answers, and nobody can be told that the one which was meant is gone. */
const replaced: Running['ask'] = () => Promise.reject(new LinkError({ kind: 'other_boot', boot: 'boot-2' }));
const away = () => Promise.reject(new Failure('state_unavailable', 'Redis is away'));

test('a loss that fleet state cannot be told of until the deadline is no unknown outcome: the failure leaves, and a repeat tells it', async () => {
  const deaf = { ...deps, lifecycle: { lose: away } };
  const exchanging = exchange(deaf, running(replaced), Deadline.in(clock, untilMs));
  const told = expect(exchanging).rejects.toMatchObject({ code: 'state_unavailable' });
  await clock.advance(untilMs + 3_000);
  await told;
});

const lost: RecordedCall = {
  digest: 'digest',
  repeated: { kind: 'barred', code: 'sandbox_lost', admitted: 'unknown', rollout: fakeRollout() },
  epoch: null,
  setup: false,
  summary: fakeCallSummary({ code: 'sandbox_lost' }),
};

test('a loss that fleet state hears of at the second try is told once, and the call ends as the loss says', async () => {
  let asked = 0;
  let known: RecordedCall | null = null;
  const lose = async () => {
    asked += 1;
    if (asked === 1) return away();
    known = lost;
    return { kind: 'none' } as const;
  };
  const world = { ...deps, lifecycle: { lose }, calls: { lookup: async () => known } };
  expect(await exchanged(replaced, 1_000, world)).toMatchObject({ kind: 'settled_elsewhere' });
  expect(asked).toBe(2);
});

/** A sandbox that never answers, and how its rollout is woken up; `asked` counts the requests. */
function silentUntilWoken() {
  const listeners = new Set<(wakeUp: WakeUp) => void>();
  let asked = 0;
  const ask: Running['ask'] = (_, signal) => {
    asked += 1;
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => reject(new LinkError({ kind: 'maybe_sent', detail: 'given up' })));
    return promise;
  };
  const on = (_: unknown, listener: (wakeUp: WakeUp) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const wake = (wakeUp: WakeUp) => listeners.forEach((listener) => listener(wakeUp));
  return { ask, wake, wakes: { on }, asked: () => asked };
}

test('a call whose rollout was discarded ends with that verdict at the wake-up: one look, and no other request', async () => {
  const { ask, wake, wakes, asked } = silentUntilWoken();
  let looks = 0;
  const repeated = {
    kind: 'barred',
    code: 'sandbox_lost',
    rollout: fakeRollout(),
    admitted: 'unknown',
  } as const;
  const lookup = async (): Promise<RecordedCall> => {
    looks += 1;
    return {
      summary: fakeCallSummary(),
      digest: 'digest',
      epoch: null,
      setup: false,
      repeated,
    };
  };
  const ending = exchange({ ...deps, calls: { lookup }, wakes }, running(ask), Deadline.in(clock, untilMs));
  wake({ kind: 'verdict' });
  expect(await ending).toMatchObject({ kind: 'settled_elsewhere', repeated });
  expect([looks, asked()]).toEqual([1, 1]);
});

test('the wake-up of the grant that a call runs under does not disturb it', async () => {
  const { ask, wake, wakes, asked } = silentUntilWoken();
  const { generation, epoch, address } = fakeRollout();
  if (epoch === null || address === null) return expect.unreachable('it has a sandbox');
  const ending = exchange({ ...deps, wakes }, running(ask), Deadline.in(clock, untilMs));
  wake({ kind: 'granted', grant: { epoch, address, generation, launchType: 'warm', claimedAtMs: 1 } });
  await clock.advance(1_000);
  expect(asked()).toBe(1);
  wake({ kind: 'restored' });
  await clock.advance(0);
  expect(asked()).toBe(2);
  void ending.catch(() => undefined);
});
