import { describe, expect, it } from 'vitest';
import { isKeptWaiting } from '#clients/typescript/src/giving-up.ts';
import { Client, Rollout, Unavailable } from '#clients/typescript/src/index.ts';
import { failure, opened, type Said, type Say, type Stranger, stranger } from './stranger.ts';

/* What a deadline of the trainer's own means for the score: whether it ended before a command began, or while it ran. */

const rolloutAt = (url: string) =>
  new Rollout('shell', { client: new Client({ url, key: 'key', run: 'run', patienceS: 0.5 }) });

const cancelled = (more: object): Said => ({
  status: 202,
  body: { call_id: 'c', state: 'cancelling', ...more },
});
const waits = cancelled({ began: false, waiting: true });
const graded: Said = { status: 200, body: { score: 0, detail: {}, replayed: false } };

/** Never answers what ends with this part, and says this to a cancel. */
const holding =
  (part: string, toCancel: Said = waits): Say =>
  (line) => {
    const path = line.split('?')[0] ?? '';
    if (path.endsWith('/cancel')) return toCancel;
    if (path.endsWith(part)) return 'silence';
    return path.endsWith('/grade') ? graded : opened;
  };

/** By a deadline that ends while the request is held. */
async function giveUp(one: Stranger, rollout: Rollout, part: string): Promise<void> {
  const stop = new AbortController();
  const call = rollout.exec('sleep 900', { signal: stop.signal });
  await expect.poll(() => one.heard.some(({ line }) => line.includes(part))).toBe(true);
  stop.abort(new Error('too late'));
  await expect(call).rejects.toThrow('too late');
}

const isGradeAsked = ({ heard }: Stranger) => heard.some(({ line }) => line.includes('/grade'));

describe('a deadline of the trainer that ends while a call is held', () => {
  it.each<[string, Said]>([
    ['its rollout waits in line', waits],
    [
      'the gateway, of the previous version, knows no such call',
      failure('unknown_call', 404, { blame: 'caller', retryable: false }),
    ],
    ['fleet state is away', failure('state_unavailable', 503)],
    ['the rollout is gone', failure('rollout_unknown', 404, { retryable: false })],
  ])('gives no score if %s', async (_situation, toCancel) => {
    await using one = await stranger(holding('/exec', toCancel));
    await using rollout = rolloutAt(one.url);
    await giveUp(one, rollout, '/exec');
    await expect(rollout.grade()).rejects.toThrow(/never_began|state_unavailable|rollout_unknown/);
    expect(rollout.discarded).not.toBeNull();
    expect(isGradeAsked(one)).toBe(false);
  });

  it.each<[string, Said]>([
    ['its command had begun', cancelled({ began: true, waiting: false })],
    ['the fleet had only just got it', cancelled({ began: false, waiting: false })],
    ['the gateway, of the previous version, says only that it cancels', cancelled({})],
    ['its sandbox does not answer', failure('sandboxd_unreachable', 503, { admitted: 'yes' })],
  ])('is the policy’s own if %s', async (_situation, toCancel) => {
    await using one = await stranger(holding('/exec', toCancel));
    await using rollout = rolloutAt(one.url);
    await giveUp(one, rollout, '/exec');
    expect((await rollout.grade()).score).toBe(0);
    expect(rollout.discarded).toBeNull();
  });

  it('gives no score if the rollout was not even opened', async () => {
    await using one = await stranger(holding('/rollouts'));
    await using rollout = rolloutAt(one.url);
    await giveUp(one, rollout, '/rollouts');
    await expect(rollout.grade()).rejects.toMatchObject({ name: 'Unavailable', code: 'never_began' });
    expect(isGradeAsked(one)).toBe(false);
  });

  it('lets later requests wait until it is known whether the command had begun', async () => {
    await using one = await stranger(holding('/exec'));
    await using rollout = rolloutAt(one.url);
    await giveUp(one, rollout, '/exec');
    await expect(rollout.write('answer', '42')).rejects.toThrow(Unavailable);
    expect(one.heard.some(({ line }) => line.includes('/files/'))).toBe(false);
  });
});

it('a call that its sandbox was kept from for a second was not slow by itself', () => {
  const sent = { began: false, waiting: false };
  expect([20, 999, 1_000].map((waitedMs) => isKeptWaiting(sent, waitedMs))).toEqual([false, false, true]);
  expect(isKeptWaiting({ began: false, waiting: true }, 20)).toBe(true);
  expect(isKeptWaiting({ began: true, waiting: false }, 900_000)).toBe(false);
});
