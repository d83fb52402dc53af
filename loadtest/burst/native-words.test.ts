import { expect, test } from 'vitest';
import type { Post, Reply } from '#demo/trainer/http.ts';
import { nativeWords } from './native-words.ts';

/** Speaks to somebody who answers each address with these in turn, the last for ever. */
function speaking(answers: Readonly<Record<string, readonly Reply[]>>) {
  const asked: string[] = [];
  const post: Post = async (url) => {
    const path = new URL(url).pathname;
    const before = asked.filter((each) => each === path).length;
    asked.push(path);
    const own = answers[path] ?? [{ status: 200, body: '{}' }];
    return own[Math.min(before, own.length - 1)] ?? { status: 500, body: '' };
  };
  const job = { url: 'http://fleet', key: 'k', run: 'run', environment: 'shell' };
  return { asked, say: nativeWords(post, job) };
}

const body = JSON.stringify({ call_id: 'c1', name: 'shell', arguments: '{}', trace_id: 'r1', item: {} });
const opened = { '/v1/rollouts': [{ status: 201, body: '{}' }] };
const call = '/v1/rollouts/r1/calls';

test('parallel first calls open their rollout once, and the output comes back as the RFT face gives it', async () => {
  const { asked, say } = speaking({ ...opened, [call]: [{ status: 200, body: '{"output":"hi"}' }] });
  const [first] = await Promise.all([say('/tools/shell', {}, body), say('/tools/shell', {}, body)]);
  expect(asked).toEqual(['/v1/rollouts', call, call]);
  expect(JSON.parse(first?.body ?? '')).toEqual({
    type: 'function_call_output',
    call_id: 'c1',
    output: 'hi',
  });
});

test('what still runs is attached to until it has ended', async () => {
  const { asked, say } = speaking({
    ...opened,
    [call]: [
      { status: 202, body: '{}' },
      { status: 200, body: '{"output":""}' },
    ],
  });
  expect(await say('/tools/shell', {}, body)).toMatchObject({ status: 200 });
  expect(asked.filter((path) => path === call)).toHaveLength(2);
});

test('a 4xx is a failure to be tried again, and never shown: also of the opening, which is then made again', async () => {
  const { asked, say } = speaking({
    '/v1/rollouts': [
      { status: 409, body: '{}' },
      { status: 201, body: '{}' },
    ],
    [call]: [{ status: 410, body: '{"error":{}}' }],
  });
  expect(await say('/tools/shell', {}, body)).toEqual({ status: 500, body: '{}' });
  expect(await say('/tools/shell', {}, body)).toEqual({ status: 500, body: '{"error":{}}' });
  expect(asked).toEqual(['/v1/rollouts', '/v1/rollouts', call]);
});

test('a graded rollout is finished', async () => {
  const { asked, say } = speaking({
    ...opened,
    '/v1/rollouts/r1/grade': [{ status: 200, body: '{"score":1}' }],
  });
  expect(await say('/rft/shell/grade', {}, body)).toEqual({ status: 200, body: '{"score":1}' });
  expect(asked.at(-1)).toBe('/v1/rollouts/r1/finish');
});
