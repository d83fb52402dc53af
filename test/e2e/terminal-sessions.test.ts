import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { runCommandLine } from '#cli/program.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/* The page for authors: its environment loads, and its calls get the answers that it shows. */

const page = readFileSync(join(import.meta.dirname, '../../docs/environments/sessions.md'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, text = '']) => text,
  );

type Call = { readonly name: string; readonly arguments: object };

let corral: JoinedFleet;
beforeAll(async () => {
  const [yaml = ''] = blocks('yaml');
  const pool = 'pool: { min_ready: 1, max: 4 }\n';
  corral = await joinSharedFleet({ debugging: `${yaml}${pool}` });
});
afterAll(() => corral.leave());

async function called(rollout: string, id: string, call: Call): Promise<string> {
  const { status, body } = await corral.native.post(`/v1/rollouts/${rollout}/calls`, {
    call_id: id,
    ...call,
  });
  expect(status).toBe(200);
  return (body as { readonly output: string }).output;
}

test('the calls of the page get the answers of the page', async () => {
  await corral.native.open('page', 'debugging', { id: 'one', answer: 'right' });
  const calls = blocks('json').map((text) => JSON.parse(text) as Call);
  const answers = blocks('text');
  expect(calls.length).toBeGreaterThan(2);
  expect(calls).toHaveLength(answers.length);
  for (const [index, call] of calls.entries())
    expect(await called('page', `call-${index}`, call)).toBe(answers[index]);
  const { body } = await corral.native.post('/v1/rollouts/page/grade', { sample: { output_text: 'right' } });
  expect(body).toMatchObject({ score: 1 });
});

test('a repeated call gets the recorded answer and types nothing again', async () => {
  await corral.native.open('repeat', 'debugging', { id: 'one', answer: 'right' });
  const open = { name: 'terminal_open', arguments: { command: 'cat >> typed', timeout_s: 1 } };
  expect(await called('repeat', 'open', open)).toContain('[terminal 1: running');
  const typed = { terminal: 1, text: 'once', keys: 'Enter', wait_for: 'once' };
  const send = { name: 'terminal_send', arguments: typed };
  const first = await called('repeat', 'send', send);
  expect(await called('repeat', 'send', send)).toBe(first);
  expect(await called('repeat', 'open', open)).toContain('[terminal 1: running');
  const end = { terminal: 1, keys: 'C-d', wait_for: 'never', timeout_s: 30 };
  await called('repeat', 'end', { name: 'terminal_send', arguments: end });
  const read = { name: 'terminal_open', arguments: { command: 'cat typed; echo read', wait_for: 'read' } };
  expect(await called('repeat', 'read', read)).toContain('\nonce\nread\n');
});

test('arguments that do not fit, and a killed server, are texts; the rollout is scored', async () => {
  await corral.native.open('mistakes', 'debugging', { id: 'one', answer: 'right' });
  const wrong = { name: 'terminal_open', arguments: { rows: 1000 } };
  expect(await called('mistakes', 'wrong', wrong)).toContain('rows');
  const kill = { command: 'pkill -KILL corral-terminal', wait_for: 'never', timeout_s: 30 };
  expect(await called('mistakes', 'kill', { name: 'terminal_open', arguments: kill })).toContain(
    'Error: the session server has ended',
  );
  const { body } = await corral.native.post('/v1/rollouts/mistakes/grade', {
    sample: { output_text: 'right' },
  });
  expect(body).toMatchObject({ score: 1 });
});

async function attached(...args: readonly string[]) {
  const said: string[] = [];
  const terminal = {
    result: (text: string) => void said.push(text),
    remark: (text: string) => void said.push(text),
    width: 120,
  };
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  const of = ['--url', gatewayUrl, '--key', apiKey, '--run', corral.run];
  const code = await runCommandLine(['attach', ...args, ...of], terminal);
  return { code, said: said.join('\n') };
}

test('an operator watches a hostile terminal, and changes nothing of the rollout', async () => {
  await corral.native.open('watched', 'debugging', { id: 'one', answer: 'right' });
  expect(await attached('watched')).toMatchObject({
    code: 0,
    said: expect.stringContaining('no terminal to show: the rollout has no sandbox yet'),
  });
  const hostile = String.raw`printf '\033]52;c;aGFja2Vk\007\033]0;owned\007\033[31mshown'; exec cat`;
  await called('watched', 'open', {
    name: 'terminal_open',
    arguments: { command: hostile, wait_for: 'shown' },
  });
  const view = async () => (await corral.native.get('/v1/rollouts/watched')).body;
  const before = await view();
  const { said } = await attached('watched', '1');
  expect(said).toBe(
    'rollout watched · read only, q ends\n[terminal 1: running, cursor at line 1, column 6; open: 1]\nshown',
  );
  expect((await attached('watched', '7')).said).toContain('no terminal to show: Error: open: 1');
  expect(await view()).toEqual(before);
  const { body } = await corral.native.post('/v1/rollouts/watched/grade', {
    sample: { output_text: 'right' },
  });
  expect(body).toMatchObject({ score: 1 });
  await corral.native.post('/v1/rollouts/watched/finish', {});
  expect((await attached('watched')).said).toContain('no terminal to show: the rollout is over');
  expect((await attached('no-such-rollout')).code).toBe(2);
});
