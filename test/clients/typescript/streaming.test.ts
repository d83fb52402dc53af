import { describe, expect, it, onTestFinished } from 'vitest';
import {
  Client,
  Misuse,
  type Output,
  Rollout,
  type Running,
  Unavailable,
} from '#clients/typescript/src/index.ts';
import { settled } from '#test/fakes/clock.ts';
import { openAnswer } from '#clients/typescript/src/transport.ts';
import { failure, opened, result, type Said, type Say, type Stranger, stranger } from './stranger.ts';

/* A stream that ends without its last word is not an end, whatever ends it. */

const rolloutAt = (url: string, patienceS = 20) =>
  new Rollout('shell', { client: new Client({ url, key: 'key', run: 'run', patienceS, log: () => {} }) });

async function read(running: Running): Promise<string> {
  let text = '';
  for await (const piece of running) {
    expect(piece).toMatchObject({ kind: 'output', at: text.length });
    text += Buffer.from((piece as Output).data).toString();
  }
  return text;
}

const event = (name: string, data: unknown) => `id: 0-0\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const output = (at: number, text: string) =>
  event('output', { stream: 'stdout', at, base64: Buffer.from(text).toString('base64') });
const end = event('end', result().body);
const ping = ': waiting\n\n';
const streamed = (...events: readonly string[]): Said => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  body: events.join(''),
});
const cut = (...events: readonly string[]): Said => ({ ...streamed(...events), isCut: true });
/** The time of a request was over before it could begin. */
const late: Said = { status: 202, body: { state: 'running', rollout_id: 'r', call_id: 'c' } };
const running: Said = { status: 202, body: { state: 'running', rollout_id: 'r', call_id: 'c', sent: true } };
const graded: Said = { status: 200, body: { score: 0, detail: {}, replayed: false } };
const stdin = (received: number): Said => ({ status: 200, body: { received, open: true } });

/** Opens, starts, and gives these to those who follow, one after the other; the last one again and again. */
function following(...connections: readonly (Said | null)[]): Say {
  const left = [...connections];
  return (line) => {
    if (line.includes('/stream')) return (left.length > 1 ? left.shift() : left[0]) ?? null;
    return line.includes('/exec') ? running : opened;
  };
}

const offsetsIn = ({ heard }: Stranger) =>
  heard.flatMap(({ line }) => /\/stream\?.*offset=([\d-]+)/.exec(line)?.[1] ?? []);
const busy = failure('recovering', 503);

describe('a followed command of the TypeScript client', () => {
  it.each<[string, Said]>([
    ['a proxy that ends it in order', streamed(output(0, 'one'), ping)],
    ['a connection that breaks', cut(output(0, 'one'))],
    ['an event that is not JSON', streamed(output(0, 'one'), 'event: output\ndata: no JSON\n\n')],
    [
      'a piece that is not base64',
      streamed(output(0, 'one'), event('output', { stream: 'stdout', at: 3, base64: 'no base64' })),
    ],
    ['another stream', streamed(output(0, 'one'), event('gap', { stream: 'stdin', at: 3, bytes: 1 }))],
    ['half of an end', streamed(output(0, 'one'), event('end', { exit_code: 0 }))],
    ['a failure that may pass', streamed(output(0, 'one'), event('error', busy.body))],
  ])('goes on after %s where it was', async (_why, broken) => {
    const connections = [
      broken,
      null,
      failure('gateway_overloaded', 503),
      streamed(ping, output(3, 'two'), end),
    ];
    await using one = await stranger(following(...connections));
    await using rollout = rolloutAt(one.url);
    expect(await read(rollout.stream('make'))).toBe('onetwo');
    expect(offsetsIn(one)).toEqual(['0-0', '3-0', '3-0', '3-0']);
    expect(one.heard.filter(({ line }) => line.includes('/exec'))).toHaveLength(1);
    expect(rollout.discarded).toBeNull();
  });

  it('is Unavailable after its patience, and there is no score', async () => {
    await using one = await stranger(following(streamed(ping)));
    await using rollout = rolloutAt(one.url, 0.5);
    await expect(read(rollout.stream('make'))).rejects.toThrow(/the stream ended before the command did/);
    await expect(rollout.grade()).rejects.toThrow(Unavailable);
  });

  it('goes on with a stream that is longer than a request, and is not sent twice', async () => {
    const over = event('error', failure('still_running', 202).body);
    await using one = await stranger(
      following(streamed(output(0, 'one'), over), streamed(over), streamed(output(3, 'two'), end)),
    );
    await using rollout = rolloutAt(one.url);
    expect(await read(rollout.stream('make'))).toBe('onetwo');
  });

  it('is sent again under its id if fleet state forgot it', async () => {
    const unknown = failure('unknown_call', 404, { blame: 'caller', retryable: false });
    await using one = await stranger(following(unknown, streamed(output(0, 'one'), end)));
    await using rollout = rolloutAt(one.url);
    expect(await read(rollout.stream('make'))).toBe('one');
    const ids = one.heard.filter(({ line }) => line.includes('/exec')).map(({ body }) => body?.['call_id']);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
  });

  it('throws the failure that the stream ends with, in every later call too', async () => {
    const lost = failure('sandbox_lost', 503, { tainted: true, retryable: false });
    await using one = await stranger(following(streamed(output(0, 'one'), event('error', lost.body))));
    await using rollout = rolloutAt(one.url);
    await expect(read(rollout.stream('make'))).rejects.toMatchObject({
      name: 'Discarded',
      code: 'sandbox_lost',
    });
    await expect(rollout.grade()).rejects.toMatchObject({ code: 'sandbox_lost' });
  });

  it('sends a piece of stdin again from where it was taken', async () => {
    const replies = [null, ...[2, 2, 4].map(stdin)];
    await using one = await stranger((line) => {
      if (line.includes('/stdin')) return replies.shift() ?? null;
      return line.includes('/exec') ? running : opened;
    });
    await using rollout = rolloutAt(one.url);
    expect(await rollout.stream('cat', { openStdin: true }).write('abcd')).toBe(true);
    const pieces = one.heard.filter(({ line }) => line.includes('/stdin')).map(({ text }) => text);
    expect(pieces).toEqual(['abcd', 'abcd', 'cd', 'cd']);
  });

  it('gives writes at once in their order, each once, and the end after them', async () => {
    let data = '';
    let isEnded = false;
    await using one = await stranger((line) => {
      if (!line.includes('/stdin')) return line.includes('/exec') ? running : opened;
      const offset = Number(/offset=(\d+)/.exec(line)?.[1]);
      expect(offset).toBeLessThanOrEqual(data.length);
      data += (one.heard.at(-1)?.text ?? '').slice(data.length - offset);
      isEnded ||= line.includes('end=true');
      return { status: 200, body: { received: data.length, open: !isEnded } };
    });
    await using rollout = rolloutAt(one.url);
    const sorting = rollout.stream('sort', { openStdin: true });
    const parts = Array.from({ length: 20 }, (_, number) => `${number}\n`.repeat(20_000));
    const taken = await Promise.all([...parts.map((part) => sorting.write(part)), sorting.endStdin()]);
    expect(taken.slice(0, -1)).toEqual(parts.map(() => true));
    expect(data).toBe(parts.join(''));
    expect(isEnded).toBe(true);
    expect(await sorting.write('more')).toBe(false);
  });

  it('is not barred by a trouble that is over, though it prints nothing', async () => {
    const connections = [null, busy, { ...streamed(ping), rest: new Promise<never>(() => undefined) }];
    const connected = Promise.withResolvers<void>();
    const { fetch } = globalThis;
    onTestFinished(() => void (globalThis.fetch = fetch));
    globalThis.fetch = async (...asked) => {
      const response = await fetch(...asked);
      if (response.headers.get('content-type') === 'text/event-stream') connected.resolve();
      return response;
    };
    await using one = await stranger((line) => {
      if (line.includes('/grade')) return graded;
      if (line.includes('/cancel'))
        return { status: 202, body: { call_id: 'c', state: 'cancelling', began: true, waiting: false } };
      if (!line.includes('/stream')) return line.includes('/exec') ? running : opened;
      return connections.shift() ?? null;
    });
    await using rollout = rolloutAt(one.url);
    const stop = new AbortController();
    const pieces = rollout.stream('sleep 3000', { signal: stop.signal })[Symbol.asyncIterator]();
    const waiting = pieces.next();
    await connected.promise;
    await settled();
    stop.abort(new Error('too late'));
    await expect(waiting).rejects.toThrow('too late');
    expect((await rollout.grade()).score).toBe(0);
  });

  it('does not use up its patience if it shows signs of life and is cut each time', async () => {
    const cuts = Array.from({ length: 14 }, () => streamed(ping, ping));
    await using one = await stranger(following(...cuts, streamed(ping, output(0, 'one'), end)));
    await using rollout = rolloutAt(one.url, 1);
    expect(await read(rollout.stream('make'))).toBe('one');
  });

  it('meets a gateway of the previous release in an upgrade, which is not a mistake of the job', async () => {
    const older = failure('invalid_request', 400, { blame: 'caller', retryable: false });
    const replies = [older, stdin(1)];
    const connections = following(older, older, streamed(output(0, 'one'), end));
    await using one = await stranger((line, number) =>
      line.includes('/stdin') ? (replies.shift() ?? null) : connections(line, number),
    );
    await using rollout = rolloutAt(one.url);
    const followed = rollout.stream('cat', { openStdin: true });
    expect(await followed.write('x')).toBe(true);
    expect(await read(followed)).toBe('one');
    expect(rollout.discarded).toBeNull();
    await using before = await stranger((line) => (line.includes('/exec') ? older : opened));
    await using other = rolloutAt(before.url);
    await expect(other.stream('cat').start()).rejects.toThrow(Misuse);
  });

  it('takes no open stdin in a sandbox of the previous release, and there is no score', async () => {
    const older = failure('sandboxd_unreachable', 503, { retryable: false });
    await using one = await stranger((line) => (line.includes('/exec') ? older : opened));
    await using rollout = rolloutAt(one.url);
    await expect(rollout.stream('sort', { openStdin: true }).write('x')).rejects.toThrow(Unavailable);
    await expect(rollout.grade()).rejects.toThrow(Unavailable);
  });

  it('is sent, followed and given stdin again if the time of a request was over before it began', async () => {
    const sent = [late, late, running];
    const given = [late, stdin(1)];
    const connections = following(...Array.from({ length: 8 }, () => late), streamed(output(0, 'one'), end));
    await using one = await stranger((line, number) => {
      if (line.includes('/stdin')) return given.shift() ?? null;
      return line.includes('/exec') ? (sent.shift() ?? null) : connections(line, number);
    });
    await using rollout = rolloutAt(one.url, 1);
    const followed = rollout.stream('cat', { openStdin: true });
    await followed.start();
    expect(sent).toEqual([]);
    expect(await followed.write('x')).toBe(true);
    expect(await read(followed)).toBe('one');
    expect(rollout.discarded).toBeNull();
  });

  it('keeps the end event if the result expires', async () => {
    const expired = failure('answer_expired', 410, { blame: 'caller', retryable: false, admitted: 'yes' });
    const connections = following(streamed(output(0, 'one'), end));
    await using one = await stranger((line, number) => {
      if (line.includes('/grade')) return graded;
      return /\/calls\/[^/]+\?/.test(line) ? expired : connections(line, number);
    });
    await using rollout = rolloutAt(one.url);
    const followed = rollout.stream('make');
    expect(await read(followed)).toBe('one');
    await expect(followed.result()).rejects.toMatchObject({ name: 'Discarded', code: 'answer_expired' });
    expect((await rollout.grade()).score).toBe(0);
  });

  it('that was accepted is not blamed on the policy for an id of its own', async () => {
    const expired = failure('answer_expired', 410, { blame: 'caller', retryable: false, admitted: 'yes' });
    const sent = [running, expired];
    await using one = await stranger((line) => (line.includes('/exec') ? (sent.shift() ?? null) : opened));
    await using rollout = rolloutAt(one.url);
    const followed = rollout.stream('make', { callId: 'mine' });
    await followed.start();
    await expect(followed.result()).rejects.toMatchObject({ name: 'Discarded' });
  });

  it('that keeps no stdin open is given none, which is the mistake of the job', async () => {
    await using one = await stranger(following());
    await using rollout = rolloutAt(one.url);
    const followed = rollout.stream('cat');
    await expect(followed.write('x')).rejects.toThrow(/openStdin/);
    await expect(followed.endStdin()).rejects.toThrow(Misuse);
    expect(one.heard).toEqual([]);
    await expect(rollout.grade()).rejects.toThrow(Misuse);
  });

  it('is given up after longer than any command takes, and there is no score', async () => {
    const now = performance.now.bind(performance);
    onTestFinished(() => void (performance.now = now));
    await using one = await stranger((line) => {
      if (!line.includes('/stdin')) return line.includes('/exec') ? running : opened;
      performance.now = () => now() + 4 * 3_600_000;
      return stdin(0);
    });
    await using rollout = rolloutAt(one.url);
    const writing = rollout.stream('cat', { openStdin: true }).write('x');
    await expect(writing).rejects.toMatchObject({ name: 'Discarded', code: 'still_running' });
    await expect(rollout.grade()).rejects.toMatchObject({ code: 'still_running' });
  });

  it('is stopped once, however often it is used after its caller has stopped waiting', async () => {
    const canceling = { call_id: 'c', state: 'cancelling', began: true, waiting: false };
    await using one = await stranger((line) => {
      if (line.includes('/exec')) return 'silence';
      if (line.includes('/cancel')) return { status: 202, body: canceling };
      return line.includes('/grade') ? graded : opened;
    });
    await using rollout = rolloutAt(one.url);
    const stop = new AbortController();
    const followed = rollout.stream('make', { signal: stop.signal });
    const reading = read(followed);
    await expect.poll(() => one.heard.some(({ line }) => line.includes('/exec'))).toBe(true);
    stop.abort(new Error('too late'));
    await expect(reading).rejects.toThrow('too late');
    await expect(followed.result()).rejects.toThrow('too late');
    expect((await rollout.grade()).score).toBe(0);
    expect(one.heard.filter(({ line }) => line.includes('/cancel'))).toHaveLength(1);
  });

  it('is not taken for silent while its reader thinks', async () => {
    const thought = Promise.withResolvers<string>();
    await using one = await stranger(() => ({ ...streamed('one'), rest: thought.promise }));
    const request = { method: 'GET', url: one.url, headers: {}, body: null, mostBytes: null, signal: null };
    const answer = await openAnswer({ ...request, silentS: 1 });
    if ('reason' in answer) throw new Error(answer.reason);
    let text = '';
    for await (const chunk of answer.chunks) {
      text += Buffer.from(chunk).toString();
      if (text === 'one') await new Promise((resolve) => setTimeout(resolve, 1_500));
      thought.resolve('two');
    }
    expect(text).toBe('onetwo');
  });

  it.each([
    [false, '/exec'],
    [true, '/stream'],
  ])('is graded after a deadline of the trainer if the fleet had begun with it: %s', async (began, held) => {
    await using one = await stranger((line) => {
      const path = line.split('?')[0] ?? '';
      if (path.endsWith(held)) return 'silence';
      if (path.endsWith('/cancel'))
        return { status: 202, body: { call_id: 'c', state: 'cancelling', began, waiting: !began } };
      if (path.endsWith('/grade')) return graded;
      return path.endsWith('/exec') ? running : opened;
    });
    await using rollout = rolloutAt(one.url);
    const stop = new AbortController();
    const reading = read(rollout.stream('make', { signal: stop.signal }));
    await expect.poll(() => one.heard.some(({ line }) => line.includes(held))).toBe(true);
    stop.abort(new Error('too late'));
    await expect(reading).rejects.toThrow('too late');
    if (began) expect((await rollout.grade()).score).toBe(0);
    else await expect(rollout.grade()).rejects.toMatchObject({ code: 'never_began' });
  });

  it('stops the command whose caller stops waiting', async () => {
    const canceled = Promise.withResolvers<void>();
    await using one = await stranger((line) => {
      if (line.includes('/cancel')) canceled.resolve();
      if (line.includes('/stream')) return 'silence';
      return line.includes('/exec') ? running : opened;
    });
    await using rollout = rolloutAt(one.url);
    const stop = new AbortController();
    const reading = read(rollout.stream('sleep 900', { signal: stop.signal }));
    await expect.poll(() => offsetsIn(one).length).toBe(1);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    await canceled.promise;
    expect(rollout.discarded).toBeNull();
  });
});
