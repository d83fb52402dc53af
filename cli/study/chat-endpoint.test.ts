import { afterEach, expect, test } from 'vitest';
import { scriptedEndpoint, type ScriptedReply } from '#test/support/chat-endpoint.ts';
import { CommandError } from '../command-error.ts';
import { chatEndpoint, EndpointFailed, type EndpointSettings } from './chat-endpoint.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function asked(replies: readonly ScriptedReply[], more: Partial<EndpointSettings> = {}) {
  const last = replies.at(-1) ?? 'never answers';
  const server = await scriptedEndpoint((_request, tries) => replies[tries - 1] ?? last);
  const pauses: number[] = [];
  const clock = { sleep: (ms: number) => Promise.resolve(void pauses.push(ms)) };
  const settings = {
    url: server.url,
    model: 'm',
    key: null,
    maxTokens: 10,
    temperature: null,
    timeoutMs: 5_000,
  };
  const endpoint = chatEndpoint({ ...settings, ...more }, clock);
  open.push(endpoint, server);
  const reply = await endpoint
    .reply([{ role: 'user', content: 'hello' }], [])
    .catch((error: unknown) => error);
  return { reply, pauses, requests: server.requests };
}

test('a reply is its text and its calls, and what it cost', async () => {
  const { reply, requests } = await asked([{ calls: [{ name: 'shell', arguments: '{"command":"ls"}' }] }]);
  expect(reply).toEqual({
    text: '',
    calls: [{ id: 'fc_1_0', name: 'shell', arguments: '{"command":"ls"}' }],
    written: 10,
    total: 110,
    cut: false,
  });
  // No tool, no temperature, no key: none of them is sent.
  expect(requests[0]).toEqual({
    body: { model: 'm', messages: [{ role: 'user', content: 'hello' }], max_tokens: 10 },
    authorization: undefined,
  });
});

test('what may pass is tried four times, after the pause that was asked for or a longer one each time', async () => {
  const passing = await asked([
    { status: 429, retryAfter: '7' },
    { status: 503 },
    'breaks off',
    { text: 'yes' },
  ]);
  expect(passing.reply).toMatchObject({ text: 'yes' });
  expect(passing.pauses).toEqual([7_000, 2_000, 4_000]);
  const lasting = await asked([{ status: 500, body: 'overloaded' }]);
  expect(lasting.requests).toHaveLength(4);
  expect(lasting.reply).toMatchObject({ code: 'endpoint_failed', message: 'answered 500: overloaded' });
});

test.each<[string, ScriptedReply, string]>([
  ['refuses this request', { status: 400 }, 'endpoint_refused'],
  ['holds the reply back', { text: '', finish: 'content_filter' }, 'content_filter'],
  ['answers with something else', { status: 200, body: '{"choices":[]}' }, 'endpoint_failed'],
])(
  'an endpoint that %s has failed at once, and nothing was said by the model',
  async (_what, reply, code) => {
    const { reply: failed, requests } = await asked([reply]);
    expect(failed).toBeInstanceOf(EndpointFailed);
    expect(failed).toMatchObject({ code });
    expect(requests).toHaveLength(1);
  },
);

test('one that never answers has its time, each try', async () => {
  const { reply, requests } = await asked(['never answers'], { timeoutMs: 50 });
  expect(reply).toMatchObject({ code: 'endpoint_unreachable', message: 'no reply within 0.05 s' });
  expect(requests).toHaveLength(4);
});

test.each([401, 403, 404])('%d is the same for every rollout, so it ends the command', async (status) => {
  const { reply } = await asked([{ status, body: 'no' }]);
  expect(reply).toBeInstanceOf(CommandError);
  expect(reply).toMatchObject({ fault: 'yours', message: `the endpoint of m answered ${status}: no` });
});
