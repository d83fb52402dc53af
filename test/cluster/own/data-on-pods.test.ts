import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importImages } from '#infra/cluster/images/import.ts';
import { defaultCacheDir } from '#infra/images/build.ts';
import { bareImage } from '#infra/images/catalogue.ts';
import { fileEntry, layer } from '#infra/images/contents/tree.ts';
import { type Image, writeArchive } from '#infra/images/oci/archive.ts';
import type { Entry } from '#infra/images/oci/tar.ts';
import {
  type ClusterFleetOfTest,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';

/** Data that the sandbox's own image holds, or an image that the kubelet mounts; and pods that have none of it. */
const bare = 'corral.local/bare:dev';
const images = {
  withPages: 'corral.local/with-pages:test',
  pages: 'corral.local/pages:test',
  nowhere: 'corral.local/pages-of-nobody:test',
  withEmptyFolder: 'corral.local/with-empty-folder:test',
  withLockedPages: 'corral.local/with-locked-pages:test',
  withOpenPages: 'corral.local/with-open-pages:test',
} as const;

/** The grader counts what a policy can find of the data, so data that is missing would be a zero. */
const environment = (name: string, image: string, data: string) => `
name: ${name}
sandbox: { image: "${image}", ${podResources}, data: [{ image: "${data}", target: /data/pages }], start_timeout: 20s }
tools:
  shell: { builtin: shell, timeout: 60s }
  search:
    parameters: { query: { type: string } }
    index:
      database: /data/pages/pages.db
      sql: SELECT path, text FROM pages WHERE pages MATCH any_word(:query) ORDER BY rank LIMIT 1
      each: "{path}: {text}"
    timeout: 20s
grader: { kind: command, command: [sh, -c, 'grep -c rose /data/pages/plain.txt > "$CORRAL_SCORE_FILE"'], on_exit: 0, on_timeout: discard, on_out_of_memory: discard, on_broken: 0 }
pool: { min_ready: 0, max: 4 }
`;

/** As {@link environment}, of one whose tools ask no database: nothing else would tell that its data is missing. */
const withoutIndex = (name: string, image: string, data: string) =>
  environment(name, image, data).replace(/ {2}search:\n[^]*?(?=grader:)/, '');

const environments = {
  baked: environment('baked', images.withPages, 'baked'),
  mounted: environment('mounted', bare, images.pages),
  rooted: withoutIndex('rooted', bare, images.pages)
    .replace('start_timeout', 'run_as: root, start_timeout')
    .replace(/grader: .*/, 'grader: { kind: text, reference: item.answer }'),
  absent: withoutIndex('absent', bare, 'baked'),
  empty: withoutIndex('empty', images.withEmptyFolder, 'baked'),
  locked: withoutIndex('locked', images.withLockedPages, 'baked'),
  open: withoutIndex('open', images.withOpenPages, 'baked'),
  nowhere: withoutIndex('nowhere', bare, images.nowhere),
};

let corral: ClusterFleetOfTest;
let folder: string;
// It makes images and brings them to the nodes: as long as a busy machine needs.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-test-data-'));
  await giveImages(await pagesIn(folder));
  corral = await startClusterFleetOfTest({ name: 'data', environments });
}, 300_000);
afterAll(async () => {
  await corral.stop();
  await rm(folder, { recursive: true, force: true });
});

async function pagesIn(place: string): Promise<(below: string, mode?: number) => readonly Entry[]> {
  const path = join(place, 'pages.db');
  const database = new DatabaseSync(path);
  database.exec(`CREATE VIRTUAL TABLE pages USING fts5(path, text);
    INSERT INTO pages VALUES ('a/2016', 'The net revenue rose.'), ('b/2017', 'The revolver was drawn.')`);
  database.close();
  const text = 'The net revenue rose.\n';
  return (below, mode = 0o644) => [
    fileEntry(path, `${below}pages.db`, false),
    { kind: 'text', path: `${below}plain.txt`, mode, text },
  ];
}

async function giveImages(pages: Awaited<ReturnType<typeof pagesIn>>): Promise<void> {
  const cluster = await clusterOfTest();
  const { layers, config } = await bareImage(defaultCacheDir());
  const upon = (name: string, entries: readonly Entry[]): Image => ({
    name,
    layers: [...layers, layer(entries)],
    config,
  });
  const made: readonly Image[] = [
    { name: images.pages, layers: [layer(pages(''))], config: {} },
    upon(images.withPages, pages('data/pages/')),
    upon(images.withEmptyFolder, [{ kind: 'folder', path: 'data/pages', mode: 0o755 }]),
    upon(images.withLockedPages, pages('data/pages/', 0o600)),
    upon(images.withOpenPages, pages('data/pages/', 0o666)),
  ];
  for (const [index, image] of made.entries()) {
    const archive = join(folder, `${index}.tar`);
    await writeArchive(image, archive);
    for (const node of cluster.nodes) await importImages(cluster, node, [archive]);
  }
}

describe.each(['baked', 'mounted'] as const)('data that is %s', (name) => {
  const shell = (trace: string, call: string, command: string) =>
    corral.rft.call({ trace, call, command, environment: name });

  test.concurrent('is where it should be, answers queries, can be written by no policy, and is scored upon', async () => {
    const trace = `${name}-used`;
    const found = await corral.rft.call({
      trace,
      call: 'c1',
      tool: 'search',
      arguments: JSON.stringify({ query: 'revenue' }),
      environment: name,
    });
    expect(found).toMatchObject({ status: 200, body: { output: 'a/2016: The net revenue rose.\n' } });
    expect(await shell(trace, 'c2', 'ls /data/pages; cat /data/pages/plain.txt')).toMatchObject({
      body: { output: 'pages.db\nplain.txt\nThe net revenue rose.\n' },
    });
    const attempts = [
      'echo x >> /data/pages/plain.txt',
      'echo x > /data/pages/pages.db-wal',
      'mv /data/pages /data/away',
      'rm -f /data/pages/pages.db',
    ];
    for (const [index, attempt] of attempts.entries())
      expect(await shell(trace, `w${index}`, `(${attempt}) 2>&1; echo ended`)).toMatchObject({
        body: { output: expect.stringMatching(/denied|read-only|permitted/i) },
      });
    expect(await corral.rft.grade({ trace, environment: name })).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  });
});

test.concurrent('data that is mounted is read-only for root, too', async () => {
  const attempt =
    'id -u; (echo x >> /data/pages/plain.txt; mount -o remount,rw /data/pages; umount /data/pages; mv /data/pages /data/away) 2>&1; cat /data/pages/plain.txt';
  const answer = await corral.rft.call({
    trace: 'rooted',
    call: 'c1',
    command: attempt,
    environment: 'rooted',
  });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      output: expect.stringMatching(
        /^0\n(?:.*(?:[Rr]ead-only|denied|permitted|busy).*\n){4}The net revenue rose\.\n$/,
      ),
    },
  });
});

test.concurrent.each([
  ['absent', 'setup_failed', '/data/pages is not there'],
  ['empty', 'setup_failed', '/data/pages is empty'],
  ['locked', 'setup_failed', '/data/pages/plain.txt may not be read'],
  ['open', 'setup_failed', '/data/pages/plain.txt may be written'],
  ['nowhere', 'image_unavailable', images.nowhere],
] as const)('a pod whose data is %s serves nobody, is ours, and never a zero', async (name, code, words) => {
  await corral.native.open(name, name);
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'cat /data/pages/plain.txt' } };
  // The data of the next sandbox would be the same, and a registry may have the image by then.
  const mayPass = code === 'image_unavailable';
  const told = {
    ...toldNothingRan,
    code,
    retryable: mayPass,
    message: expect.stringContaining(words) as string,
  };
  const answer = await corral.native.post(`/v1/rollouts/${name}/calls?wait_s=${mayPass ? 30 : 300}`, call);
  expectFailure(answer, { ...told, rollout_id: name, call_id: 'c1' });
  expect((await corral.native.get(`/v1/rollouts/${name}`)).body).toMatchObject({ taint: null, score: null });
});
