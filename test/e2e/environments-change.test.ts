import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { type ExtraController, startExtraController } from '../support/extra-part.ts';
import { environmentFolder } from '../support/environment-folder.ts';
import { type Faces, facesOf } from '../support/faces.ts';
import { type FleetOfTest, sharedPayload, startFleetOfTest } from '../support/fleet.ts';

/** Its sandboxes say which of its versions they are made of. */
const shell = (which: string, name = 'shell') => `
name: ${name}
sandbox: { image: host, disk: 64Mi, processes: 64, env: { WHICH: ${which} } }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 8 }
`;

/** A fleet whose second gateway and second controller have a folder of their own, as two nodes have a ConfigMap each. */
let corral: FleetOfTest;
let folder: Awaited<ReturnType<typeof environmentFolder>>;
let extra: ExtraGateway;
let controller: ExtraController;
let other: Faces;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shell('one') } });
  folder = await environmentFolder({ 'shell.yaml': shell('one') });
  extra = await startExtraGateway(corral.fleet, folder.path);
  controller = await startExtraController(corral.fleet, folder.path, {
    kind: 'local',
    payloadDir: sharedPayload,
  });
  other = facesOf(extra.url, corral.fleet.apiKey);
});
afterAll(async () => {
  await controller.stop();
  await extra.stop();
  await corral.stop();
  await folder[Symbol.asyncDispose]();
});

const fileOf = (name: string) => join(dirname(corral.fleet.stateDir), 'environments', `${name}.yaml`);
const otherFileOf = (name: string) => join(folder.path, `${name}.yaml`);

/** Environments by name, as a gateway offers them. */
async function versionsAt({ native }: Faces): Promise<Readonly<Record<string, string>>> {
  const { body } = await native.get('/v1/environments');
  const { environments } = body as { environments: readonly { name: string; version: string }[] };
  return Object.fromEntries(environments.map(({ name, version }) => [name, version]));
}

/** Which version the sandbox of a rollout is made of, as its commands see it. */
async function which(faces: Faces, trace: string, run: string, environment = 'shell'): Promise<unknown> {
  const call = { trace, call: `c-${Math.random()}`, command: 'echo $WHICH', environment };
  const { status, body } = await faces.rft.call(call, { 'x-corral-run': run });
  return status === 200 ? (body as { readonly output: string }).output.trim() : body;
}

const readyAt = async (url: string) => (await fetch(`${url}/readyz`)).json();

/** By what both gateways and both controllers go. */
async function digests(): Promise<readonly string[]> {
  const urls = [corral.fleet.gatewayUrl, corral.fleet.controllerUrl, extra.url, controller.url];
  const said = (await Promise.all(urls.map(readyAt))) as readonly { environments: { digest: string } }[];
  return said.map(({ environments }) => environments.digest);
}

const expectAgreed = () => expect.poll(async () => new Set(await digests()).size, soon).toBe(1);

const unknown = { error: { code: 'unknown_environment', blame: 'caller' } };

/** Three looks and an answer, on a busy machine. */
const soon = { timeout: 20_000, interval: 100 };

test('a change that reaches one gateway and one controller only is in force at all within seconds, and no run changes its version', async () => {
  const { shell: before } = await versionsAt(corral);
  expect(await which(corral, 'begun', 'run-1')).toBe('one');

  await writeFile(otherFileOf('shell'), shell('two'));
  await expect.poll(() => versionsAt(corral), soon).not.toMatchObject({ shell: before });
  await expectAgreed();
  expect((await versionsAt(other))['shell']).not.toBe(before);

  expect(await which(corral, 'fresh', 'run-2')).toBe('two');
  expect(await which(other, 'fresh-too', 'run-3')).toBe('two');
  for (const faces of [corral, other]) {
    expect(await which(faces, 'begun', 'run-1')).toBe('one');
    expect(await which(faces, 'later', 'run-1')).toBe('one');
  }
  const address = `shell@${before?.slice(0, 8)}`;
  expect(await which(corral, 'addressed', 'run-4', address)).toBe('one');
  expect(await which(other, 'addressed', 'run-4', address)).toBe('one');
  const grade = { trace: 'addressed', environment: address };
  expect(await other.rft.grade(grade, { 'x-corral-run': 'run-4' })).toMatchObject({ status: 200 });
});

test('a gateway that is started again with the old folder serves the new environments from its first answer on', async () => {
  await corral.killPart('gateway');
  expect(await which(corral, 'restarted', 'run-5')).toBe('two');
});

test('a file with a mistake changes nothing, and the processes that read it say where it is', async () => {
  const before = await versionsAt(other);
  await writeFile(otherFileOf('shell'), `${shell('three')}\nlimits: { tool_calls: many }\n`);
  const trouble = { status: 'ready', environments: { trouble: expect.stringMatching(/shell\.yaml:\d+/) } };
  await expect.poll(() => readyAt(extra.url), soon).toMatchObject(trouble);
  await expect.poll(() => readyAt(controller.url), soon).toMatchObject(trouble);
  const metrics = await (await fetch(`${extra.url}/metrics`)).text();
  expect(metrics).toMatch(/^corral_environments_trouble 1$/m);
  expect(await readyAt(corral.fleet.gatewayUrl)).toMatchObject({ environments: { trouble: null } });
  expect(await versionsAt(other)).toEqual(before);
  expect(await versionsAt(corral)).toEqual(before);

  await writeFile(otherFileOf('shell'), shell('two'));
  await expect.poll(() => readyAt(extra.url), soon).toMatchObject({ environments: { trouble: null } });
});

test('an environment that only the other gateway has heard of is served here, and one that nobody has is unknown', async () => {
  await writeFile(otherFileOf('added'), shell('added', 'added'));
  await expect.poll(() => versionsAt(other), soon).toHaveProperty('added');
  expect(await which(corral, 'added', 'run-6', 'added')).toBe('added');
  expect(await which(corral, 'nothing', 'run-6', 'nothing')).toMatchObject(unknown);
});

test('an environment that was removed takes nothing new, and its open rollouts end well at every gateway', async () => {
  expect(await which(corral, 'staying', 'run-7', 'added')).toBe('added');
  await rm(otherFileOf('added'));
  await expect.poll(() => versionsAt(corral), soon).not.toHaveProperty('added');
  await expect.poll(() => versionsAt(other), soon).not.toHaveProperty('added');
  for (const faces of [corral, other]) {
    expect(await which(faces, 'late', 'run-7', 'added')).toMatchObject(unknown);
    expect(await which(faces, 'staying', 'run-7', 'added')).toBe('added');
  }
  const grade = { trace: 'staying', environment: 'added', sample: { output_text: '42' } };
  expect(await other.rft.grade(grade, { 'x-corral-run': 'run-7' })).toMatchObject({ status: 200 });
});

test('the folder that changed last counts, whichever it is', async () => {
  const { shell: before } = await versionsAt(other);
  await writeFile(fileOf('shell'), shell('four'));
  await expect.poll(() => versionsAt(other), soon).not.toMatchObject({ shell: before });
  expect(await which(other, 'last', 'run-8')).toBe('four');
});

test('when the last process with the newest folder is stopped, what the others have counts at once: a rollback', async () => {
  await expectAgreed();
  const before = await versionsAt(corral);
  await writeFile(otherFileOf('shell'), shell('five'));
  await expect.poll(() => versionsAt(corral), soon).not.toEqual(before);
  await Promise.all([controller.stop(), extra.stop()]);
  // Well before a process that died without a word would be given up.
  await expect.poll(() => versionsAt(corral), { timeout: 15_000, interval: 100 }).toEqual(before);
});
