import { chown, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { savedImage, tarOf } from '../builders/image-archive.ts';
import { busyboxRoot, scoredByTask } from '../support/busybox-root.ts';
import { expectFailure, toldNothingRan } from '../support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';
import { type ImageRegistry, startImageRegistry } from '../support/image-registry.ts';
import { configOf, layerOf } from '../support/image-store.ts';

/** What stands in the file `task` of each image, and so is its score. */
const tasks = { a: 1, b: 2, saved: 3 } as const;
const config = { Env: ['GREETING=hello', 'PATH=/bin'], WorkingDir: '/srv/app', User: 'dev' };

let folder = '';
let registry: ImageRegistry;
let corral: FleetOfTest;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-registries-'));
  const root = join(folder, 'root');
  await mkdir(root);
  await busyboxRoot(root, '0\n');
  for (const each of ['etc', 'srv/app']) await mkdir(join(root, each), { recursive: true });
  await chown(join(root, 'srv/app'), 4000, 4000);
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\ndev:x:4000:4000::/homes/dev:/bin/sh\n',
  );
  const base = layerOf(root);
  const layersOf = (task: keyof typeof tasks) => [base, tarOf({ path: 'task', text: `${tasks[task]}\n` })];
  registry = await startImageRegistry();
  for (const task of ['a', 'b'] as const) await registry.push(`tasks/${task}:1`, layersOf(task), config);
  const saved = join(folder, 'saved.tar');
  await writeFile(saved, savedImage(configOf(layersOf('saved'), config), layersOf('saved')));
  corral = await startFleetOfTest({
    environments: {
      rows: scoredByTask('rows', `{ from: item.image, allow: ["${registry.host}/*"] }`),
      fixed: scoredByTask('fixed', `"${registry.host}/tasks/a:1"`),
      saved: scoredByTask('saved', `"docker-archive:${saved}"`),
      shell: scoredByTask('shell', 'host'),
    },
  });
});
afterAll(async () => {
  await corral.stop();
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const rowOf = (task: string) => ({ id: task, image: `${registry.host}/tasks/${task}:1` });
const look = 'pwd; echo $GREETING $HOME; busybox id -un; cat /task';
const call = (environmentName: string, trace: string, item?: object) =>
  corral.rft.call({
    trace,
    call: 'c1',
    command: look,
    environment: environmentName,
    ...(item === undefined ? {} : { item: { ...item } }),
  });
const seen = (task: keyof typeof tasks) => `/srv/app\nhello /homes/dev\ndev\n${tasks[task]}\n`;

test('rows name images of a registry: commands find WORKDIR, ENV and USER, and the grader the same files', async () => {
  const rows = (['a', 'b', 'a', 'b'] as const).map((task, index) => ({
    task,
    trace: `row-${task}-${index}`,
  }));
  const answers = await Promise.all(rows.map(({ task, trace }) => call('rows', trace, rowOf(task))));
  expect(answers).toMatchObject(rows.map(({ task }) => ({ status: 200, body: { output: seen(task) } })));
  for (const { task, trace } of rows.slice(0, 2)) {
    const grade = await corral.rft.grade({ trace, environment: 'rows', item: rowOf(task) });
    expect(grade).toMatchObject({ status: 200, body: { score: tasks[task] } });
  }
});

test.each([
  ['an image of a registry', 'fixed', 'a'],
  ['a file that docker save wrote', 'saved', 'saved'],
] as const)('an environment names %s: the same', async (_what, name, task) => {
  expect(await call(name, `of-${name}`)).toMatchObject({ status: 200, body: { output: seen(task) } });
  const grade = await corral.rft.grade({ trace: `of-${name}`, environment: name });
  expect(grade).toMatchObject({ status: 200, body: { score: tasks[task] } });
});

test('an image that the registry does not have is named, costs no score, and keeps no other rollout waiting', async () => {
  await corral.native.open('gone', 'rows', rowOf('not-there'));
  const request = { call_id: 'c1', name: 'shell', arguments: { command: 'true' } };
  const [asked, meanwhile] = await Promise.all([
    corral.native.post('/v1/rollouts/gone/calls?wait_s=300', request),
    call('rows', 'meanwhile', rowOf('a')),
  ]);
  expect(meanwhile).toMatchObject({ status: 200 });
  expectFailure(asked, {
    ...toldNothingRan,
    code: 'image_unavailable',
    retryable: false,
    message: expect.stringContaining('the registry has no such image'),
  });
});
