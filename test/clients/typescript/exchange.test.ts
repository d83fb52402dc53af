import { describe, expect, it } from 'vitest';
import { pauseS } from '#clients/typescript/src/exchange.ts';
import {
  Client,
  CorralError,
  Discarded,
  Misuse,
  Refused,
  Rollout,
  Unavailable,
} from '#clients/typescript/src/index.ts';
import {
  afterOpen,
  failure,
  opened,
  result,
  type Said,
  type Say,
  type Stranger,
  stranger,
} from './stranger.ts';

/* What is tried again, and what each answer becomes, next to a server that answers what a test wants. */

const rolloutAt = (url: string, patienceS = 20) =>
  new Rollout('shell', { client: new Client({ url, key: 'key', run: 'run', patienceS }) });

const callsOf = ({ heard }: Stranger) => heard.filter(({ line }) => line.includes('/exec'));
const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );
const running: Said = { status: 202, body: { state: 'running', rollout_id: 'r', call_id: 'c' } };
const byCaller = { blame: 'caller', retryable: false };
const graded: Said = { status: 200, body: { score: 1, detail: {}, replayed: false } };
/** Opens, says this to each call, and grades with 1. */
const grading =
  (said: Said): Say =>
  (line) =>
    line.includes('/grade') ? graded : line.includes('/exec') ? said : opened;

describe('the TypeScript client', () => {
  it('keeps the id of a call over resets, refusals and proxies', async () => {
    const busy = failure('gateway_overloaded', 503);
    const troubles = [null, busy, { status: 502, body: '<html>' }, null, { status: 504, body: '' }];
    await using one = await stranger(afterOpen(...troubles, result({ stdout: 'once' })));
    await using rollout = rolloutAt(one.url);
    expect((await rollout.exec('echo once')).stdout).toBe('once');
    const ids = callsOf(one).map(({ body }) => body?.['call_id']);
    expect([ids.length, new Set(ids).size]).toEqual([6, 1]);
  });

  it('attaches to long work and does not send it again', async () => {
    await using one = await stranger(afterOpen(running, running, result({ stdout: 'done' })));
    await using rollout = rolloutAt(one.url);
    expect((await rollout.exec('sleep 900')).stdout).toBe('done');
    expect(callsOf(one)).toHaveLength(1);
    expect(one.heard.filter(({ line }) => line.startsWith('GET'))).toHaveLength(2);
  });

  it('sends a call that fleet state forgot again under its id', async () => {
    await using one = await stranger(afterOpen(running, failure('unknown_call', 404, byCaller), result()));
    await using rollout = rolloutAt(one.url);
    await rollout.exec('sleep 900');
    const ids = callsOf(one).map(({ body }) => body?.['call_id']);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
  });

  it('comes again when the fleet says, and never earlier', () => {
    expect([0, 1].map((chance) => pauseS(3, 2, chance))).toEqual([2, 2.5]);
    expect([0, 1, 9].map((tries) => pauseS(tries, null, 1))).toEqual([0.2, 0.4, 5]);
  });

  it('is Unavailable after its patience, and stays so for the grade', async () => {
    await using one = await stranger(afterOpen(failure('line_full', 503)));
    await using rollout = rolloutAt(one.url, 0.3);
    expect(await thrownBy(rollout.exec('true'))).toMatchObject({
      name: 'Unavailable',
      code: 'line_full',
      rolloutId: rollout.rolloutId,
    });
    // Code that showed it to the model as text goes on, and must get no score.
    await expect(rollout.grade()).rejects.toThrow(Unavailable);
    expect(rollout.discarded).toBeInstanceOf(Unavailable);
  });

  it('is Unavailable if nothing listens at the address', async () => {
    const gone = await stranger(() => opened);
    await gone[Symbol.asyncDispose]();
    const error = await thrownBy(new Client({ url: gone.url, key: 'key', patienceS: 0.5 }).tools('shell'));
    expect(error).toMatchObject({ name: 'Unavailable', code: 'gateway_unreachable', admitted: 'no' });
  });

  it.each<[string, unknown]>([
    ['no JSON', '<html>'],
    ['a list', []],
    ['a wrong type', { ...(result().body as object), exit_code: '0' }],
  ])('never takes an answer for a result that is %s', async (_, body) => {
    await using one = await stranger(afterOpen({ status: 200, body }));
    await using rollout = rolloutAt(one.url, 0.5);
    expect(await thrownBy(rollout.exec('true'))).toBeInstanceOf(CorralError);
    await expect(rollout.grade()).rejects.toThrow(CorralError);
  });

  it('takes another server for a mistake at first, and for an accident once the gateway has answered', async () => {
    const lost: Said = { status: 404, body: '<html>no such page' };
    await using wrong = await stranger(() => lost);
    await expect(rolloutAt(wrong.url).open()).rejects.toThrow(Misuse);
    await using right = await stranger(afterOpen(lost, result()));
    await using rollout = rolloutAt(right.url);
    expect((await rollout.exec('true')).exitCode).toBe(0);
  });

  it.each<[string, number, object, typeof CorralError]>([
    ['sandbox_lost', 503, { tainted: true, retryable: false }, Discarded],
    ['rollout_expired', 410, byCaller, Discarded],
    ['run_closed', 409, byCaller, Discarded],
    ['unclassified', 500, { retryable: false }, Discarded],
    ['unauthorized', 401, byCaller, Misuse],
    ['call_conflict', 409, byCaller, Misuse],
    ['a_newer_one', 503, { retryable: false }, Discarded],
    ['a_newer_one', 400, byCaller, Misuse],
    ['payload_too_large', 413, byCaller, Refused],
  ])('throws for %s with status %i', async (code, status, also, kind) => {
    await using one = await stranger(afterOpen(failure(code, status, also)));
    await using rollout = rolloutAt(one.url);
    const error = await thrownBy(rollout.exec('true'));
    expect((error as CorralError).constructor).toBe(kind);
  });

  it.each([
    ['call_conflict', 409],
    ['answer_expired', 410],
  ])('refuses an id that the policy has used (%s), and the rollout is scored', async (code, status) => {
    await using one = await stranger(grading(failure(code, status, byCaller)));
    await using rollout = rolloutAt(one.url);
    await expect(rollout.exec('true', { callId: 'functions.shell:0' })).rejects.toThrow(Refused);
    expect(rollout.discarded).toBeNull();
    expect((await rollout.grade()).score).toBe(1);
  });

  it('gives no score after a mistake of the job, and runs its other calls', async () => {
    const expired = failure('unauthorized', 401, byCaller);
    await using one = await stranger(afterOpen(expired, result({ stdout: 'ran' })));
    await using rollout = rolloutAt(one.url);
    await expect(rollout.exec('true')).rejects.toThrow(Misuse);
    expect((await rollout.exec('true')).stdout).toBe('ran');
    await expect(rollout.grade()).rejects.toThrow(Misuse);
    await expect(rollout.score(0)).rejects.toThrow(Misuse);
    expect(one.heard.some(({ line }) => line.includes('/grade') || line.includes('/finish'))).toBe(false);
  });

  it('gives no score if a call was not sent because it is not JSON', async () => {
    await using one = await stranger(afterOpen(result()));
    await using rollout = rolloutAt(one.url);
    const endless: Record<string, unknown> = {};
    endless['inner'] = endless;
    await expect(rollout.call('shell', endless)).rejects.toThrow(Misuse);
    await expect(rollout.grade()).rejects.toThrow(Misuse);
  });

  it.each<[string | readonly string[], object]>([
    ['true', { timeoutS: 0 }],
    ['true', { timeoutS: Number.NaN }],
    ['true', { timeoutS: 1e9 }],
    ['true', { maxOutputBytes: 0 }],
    ['true', { maxOutputBytes: 2 ** 40 }],
    ['true', { callId: 'two words' }],
    ['true', { callId: '..' }],
    ['true', { callId: '' }],
    ['true', { user: 'admin' }],
    [[], {}],
    [Array.from({ length: 5_000 }, () => 'true'), {}],
  ])(
    'refuses what the policy can put into a command (%j, %j), and the rollout goes on',
    async (command, options) => {
      await using one = await stranger(afterOpen(result()));
      await using rollout = rolloutAt(one.url);
      await expect(rollout.exec(command, options)).rejects.toThrow(Refused);
      expect([rollout.discarded, callsOf(one)]).toEqual([null, []]);
    },
  );

  it('refuses a sample with NaN, and the rollout can still be graded', async () => {
    await using one = await stranger(grading(result()));
    await using rollout = rolloutAt(one.url);
    await expect(rollout.grade({ arguments: Number.NaN })).rejects.toThrow(Refused);
    expect((await rollout.grade()).score).toBe(1);
  });

  it('stops the job that opens rollouts in a run that was stopped', async () => {
    await using one = await stranger(() => failure('run_closed', 409, byCaller));
    await expect(rolloutAt(one.url).open()).rejects.toThrow(Misuse);
    expect(one.heard).toHaveLength(1);
  });

  it('stops the command whose caller stops waiting, and the rollout goes on', async () => {
    const canceled = Promise.withResolvers<void>();
    await using one = await stranger((line) => {
      if (line.includes('/cancel')) canceled.resolve();
      return line.includes('/exec') ? 'silence' : opened;
    });
    await using rollout = rolloutAt(one.url);
    await rollout.open();
    const stop = new AbortController();
    const call = rollout.exec('sleep 900', { signal: stop.signal });
    await expect.poll(() => callsOf(one).length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await canceled.promise;
    expect(rollout.discarded).toBeNull();
  });

  it.each(['exec', 'rollouts'])(
    'gives no score if a deadline of the trainer ends while %s has no answer of the fleet',
    async (part) => {
      const away = failure('gateway_overloaded', 503);
      await using one = await stranger((line) => (line.split('?')[0]?.endsWith(`/${part}`) ? away : opened));
      await using rollout = rolloutAt(one.url);
      const stop = new AbortController();
      const call = rollout.exec('true', { signal: stop.signal });
      await expect.poll(() => one.heard.length).toBeGreaterThan(3);
      stop.abort(new Error('too late'));
      await expect(call).rejects.toThrow('too late');
      await expect(rollout.grade()).rejects.toThrow(Unavailable);
      expect(one.heard.some(({ line }) => line.includes('/grade'))).toBe(false);
    },
  );

  it('opens one rollout for many first calls, and none for no call', async () => {
    await using one = await stranger(afterOpen(result()));
    await rolloutAt(one.url).finish();
    expect(one.heard).toHaveLength(0);
    await using rollout = rolloutAt(one.url);
    await Promise.all(Array.from({ length: 8 }, () => rollout.exec('true')));
    expect(one.heard.filter(({ line }) => line === 'POST /v1/rollouts')).toHaveLength(1);
  });

  it('finishes although the first tries fail, and never throws', async () => {
    let left = 2;
    await using one = await stranger((line) => {
      if (!line.includes('/finish')) return opened;
      left -= 1;
      return left < 0 ? opened : failure('state_unavailable', 503);
    });
    const rollout = rolloutAt(one.url);
    await rollout.open();
    await rollout.finish();
    expect(one.heard.filter(({ line }) => line.includes('/finish'))).toHaveLength(3);
    await expect(rollout.exec('true')).rejects.toThrow(Discarded);
  });

  it.each(['127.0.0.1:8700', 'ftp://somewhere', '', 'http://'])('refuses the address "%s" at once', (url) => {
    expect(() => new Client({ url, key: 'key' })).toThrow(/CORRAL_URL/);
  });

  it('never repeats a key in its messages', () => {
    let said = '';
    try {
      said = new Client({ url: 'http://127.0.0.1:1', key: 'a secret\n' }).gateway.url;
    } catch (error) {
      said = String(error);
    }
    expect(said).toContain('CORRAL_KEY');
    expect(said).not.toContain('a secret');
  });

  it.each(['', '/', 'a\0b', 'x'.repeat(5_000), 'half\ud800', '../up', 'a/./b'])(
    'refuses the path %j, and the rollout goes on',
    async (path) => {
      await using one = await stranger(afterOpen(result()));
      await using rollout = rolloutAt(one.url);
      await expect(rollout.read(path)).rejects.toThrow(Refused);
      await expect(rollout.write(path, 'x')).rejects.toThrow(Refused);
      expect(rollout.discarded).toBeNull();
    },
  );
});
