import { describe, expect, it } from 'vitest';
import { Client, type Output, Rollout, type Running, Unavailable } from '#clients/typescript/src/index.ts';
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
const running: Said = { status: 202, body: { state: 'running', rollout_id: 'r', call_id: 'c' } };

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
    const replies = [null, ...[2, 2, 4].map((received) => ({ status: 200, body: { received, open: true } }))];
    await using one = await stranger((line) => {
      if (line.includes('/stdin')) return replies.shift() ?? null;
      return line.includes('/exec') ? running : opened;
    });
    await using rollout = rolloutAt(one.url);
    expect(await rollout.stream('cat', { openStdin: true }).write('abcd')).toBe(true);
    const pieces = one.heard.filter(({ line }) => line.includes('/stdin')).map(({ text }) => text);
    expect(pieces).toEqual(['abcd', 'abcd', 'cd', 'cd']);
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
      if (path.endsWith('/grade')) return { status: 200, body: { score: 0, detail: {}, replayed: false } };
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
