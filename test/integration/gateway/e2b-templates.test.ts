import { afterEach, beforeEach, expect, test } from 'vitest';
import { writePass } from '#services/gateway/e2b/pass.ts';
import type { Environment } from '#src/model/environment.ts';
import { environmentName } from '#src/model/ids.ts';
import { fakeEnvironment, fakeOpenTemplate } from '#test/fakes/environment.ts';
import { envelope } from '#test/support/connect.ts';
import { fleetTokens, type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

let gateway: GatewayUnderTest;
beforeEach(async () => {
  gateway = await startGateway();
});
afterEach(() => gateway.stop(1_000));

const get = (path: string) => fetch(`${gateway.url}/e2b${path}`, { headers: gateway.headersOf('native') });
const post = (path: string, body: unknown) =>
  fetch(`${gateway.url}/e2b${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: gateway.headersOf('native'),
  });

const environmentOf = (name: string, runAs: 'user' | 'root'): Environment => ({
  ...fakeEnvironment(),
  name: environmentName(name),
  template: { ...fakeOpenTemplate(['*']), runAs },
});

/** Environments whose images come from rows, by name and by what their commands run as. */
function offer(offered: Readonly<Record<string, 'user' | 'root'>>): void {
  const environments = Object.entries(offered).map(([name, runAs]) => environmentOf(name, runAs));
  gateway.core.environments = () => environments;
  gateway.core.environment = (ref) => {
    const found = environments.find(({ name }) => name === ref.name);
    return found === undefined ? Promise.reject(new Error(`no ${ref.name}`)) : Promise.resolve(found);
  };
}

async function build(name: string, body: object) {
  const made = await post('/v3/templates', { name });
  const { templateID, buildID } = (await made.json()) as { templateID: string; buildID: string };
  const at = `/v2/templates/${encodeURIComponent(templateID)}/builds/${buildID}`;
  return { templateID, buildID, answer: await post(at, body) };
}

/** As Harbor 0.26 builds them. */
const ofHarbor = {
  fromImage: 'registry.example.com/task:1',
  steps: [
    { type: 'USER', args: ['root'] },
    { type: 'WORKDIR', args: ['/'] },
    { type: 'RUN', args: ['install -d -m 0777 /var/lib/harbor', 'root'] },
  ],
};
const image = { fromImage: 'registry.example.com/task:1' };

const execsOf = () =>
  gateway.core.calls
    .filter(({ method }) => method === 'exec')
    .map(({ args }) => args[1] as { argv: string[] });

test('each tag of a name is a template of its own, also by the id of its build', async () => {
  offer({ sandbox: 'user' });
  expect((await get('/templates/task/tags')).status).toBe(404);
  const one = await build('task:one', image);
  const other = await build('task:other', image);
  expect([one.answer.status, one.templateID]).toEqual([202, 'task:one']);
  expect(one.buildID).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(other.buildID).not.toBe(one.buildID);
  const tags = (await (await get('/templates/task/tags')).json()) as object[];
  expect(tags).toMatchObject([
    { tag: 'one', buildID: one.buildID },
    { tag: 'other', buildID: other.buildID },
  ]);
  for (const known of ['task', 'task:one'])
    expect((await get(`/templates/aliases/${known}`)).status).toBe(200);
  expect((await get('/templates/aliases/task:none')).status).toBe(404);
  expect((await get(`/templates/task/builds/${one.buildID}/status`)).status).toBe(200);
  for (const templateID of ['task:one', `task:${other.buildID}`])
    expect((await post('/v2/sandboxes', { templateID })).status).toBe(201);
  for (const templateID of ['task', 'task:none', 'task:one:two'])
    expect((await post('/v2/sandboxes', { templateID })).status).toBe(400);
});

test('a build again is the same build, and the newest content counts', async () => {
  offer({ sandbox: 'user' });
  const first = await build('task:one', image);
  const again = await build('task:one', { ...image, steps: [{ type: 'RUN', args: ['echo new'] }] });
  expect(again.buildID).toBe(first.buildID);
  await post('/v2/sandboxes', { templateID: `task:${first.buildID}` });
  expect(execsOf()[0]?.argv.at(-1)).toContain('echo new');
});

test('steps for root open the environment of root if there is one, and are refused where commands are a user’s', async () => {
  offer({ sandbox: 'user' });
  const refused = await build('harbor-1:default-r5', ofHarbor);
  expect(refused.answer.status).toBe(400);
  expect(await refused.answer.json()).toMatchObject({ message: expect.stringContaining('sandbox-root') });
  offer({ sandbox: 'user', 'sandbox-root': 'root' });
  expect((await build('harbor-1:default-r5', ofHarbor)).answer.status).toBe(202);
  expect((await post('/v2/sandboxes', { templateID: 'harbor-1:default-r5' })).status).toBe(201);
  const [, opened] = gateway.core.calls.find(({ method }) => method === 'open')?.args ?? [];
  expect(opened).toMatchObject({
    environment: { name: 'sandbox-root' },
    item: { image: ofHarbor.fromImage },
  });
  expect(execsOf()[0]?.argv.at(-1)).toContain("run 'install -d -m 0777 /var/lib/harbor'");
});

test('a sandbox whose steps fail is refused with their last words, and leaves none behind', async () => {
  offer({ sandbox: 'user' });
  await build('task', { ...image, steps: [{ type: 'RUN', args: ['exit 7'] }] });
  const stderr = 'no room\n\nbuild step 1 (RUN exit 7) ended with exit code 7\n';
  gateway.core.result = { ...gateway.core.result, exitCode: 1, stderr };
  const answer = await post('/v2/sandboxes', { templateID: 'task' });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ message: expect.stringMatching(/no room\s+build step 1 /) });
  expect(gateway.core.calls.map(({ method }) => method)).toEqual(['open', 'exec', 'close']);
});

test('commands start in the folder of the last WORKDIR, unless they name one', async () => {
  offer({ sandbox: 'user' });
  await build('task', { ...image, steps: [{ type: 'WORKDIR', args: ['/app'] }] });
  const opened = await post('/v2/sandboxes', { templateID: 'task' });
  const { sandboxID, envdAccessToken } = (await opened.json()) as Record<string, string>;
  expect(envdAccessToken).toBe(
    writePass(fleetTokens, {
      sandbox: sandboxID ?? '',
      run: 'nightly',
      key: 'native',
      envs: {},
      cwd: '/app',
    }),
  );
  for (const cwd of ['', '/else']) {
    await fetch(`${gateway.url}/e2b/process.Process/Start`, {
      method: 'POST',
      body: envelope({ process: { cmd: 'pwd', ...(cwd && { cwd }) } }),
      headers: {
        'content-type': 'application/connect+json',
        'e2b-sandbox-id': sandboxID ?? '',
        'x-access-token': envdAccessToken ?? '',
      },
    });
  }
  expect(execsOf().slice(1)).toMatchObject([{ cwd: '/app' }, { cwd: '/else' }]);
});

test.each([
  ['files', { ...image, steps: [{ type: 'COPY', args: ['a', '/a'] }] }, 'build step 1 (COPY a)'],
  ['a start command', { ...image, startCmd: 'serve' }, 'start'],
  ['two tags', null, 'one tag'],
])('a build with %s is refused in words', async (_name, body, words) => {
  offer({ sandbox: 'user' });
  const answer =
    body === null
      ? await post('/v3/templates', { name: 'task', tags: ['one', 'two'] })
      : (await build('task', body)).answer;
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ message: expect.stringContaining(words) });
  expect(await (await get('/templates/task/files/abc')).json()).toMatchObject({
    message: expect.stringContaining('COPY'),
  });
});
