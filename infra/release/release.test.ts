import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { repository } from '../payload/repository.ts';
import { buildChart } from './chart.ts';
import { writeChecksums } from './checksums.ts';
import { sbom } from './sbom.ts';

const run = promisify(execFile);
const read = (name: string) => readFile(join(repository, name), 'utf8');

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'corral-release-'))));
afterAll(() => rm(folder, { recursive: true }));

const origin = { version: '0.2.0', revision: 'a'.repeat(40), madeAtS: 1_795_424_903 };

test('all packages, the chart and its images have one version', async () => {
  const { version } = JSON.parse(await read('package.json')) as { readonly version: string };
  const client = JSON.parse(await read('clients/typescript/package.json')) as { readonly version: string };
  expect(client.version).toBe(version);
  expect(await read('clients/typescript/src/version.ts')).toContain(`version = '${version}'`);
  expect(await read('clients/python/src/corral/version.py')).toContain(`__version__: Final = "${version}"`);
  const chart = await read('charts/corral/Chart.yaml');
  expect(chart).toMatch(new RegExp(`^version: ${version}$`, 'm'));
  expect(chart).toMatch(new RegExp(`^appVersion: ${version}$`, 'm'));
});

test('a chart packed twice has the same bytes, without values of tests, and its images come from the registry', async () => {
  const [one, other] = await Promise.all(
    ['one', 'other'].map((name) => buildChart(origin, 'registry.example.com/team', join(folder, name))),
  );
  for (const kind of ['packed', 'archive'] as const)
    expect((await readFile(one?.[kind] ?? '')).equals(await readFile(other?.[kind] ?? ''))).toBe(true);
  const { stdout: names } = await run('tar', ['-tzf', one?.packed ?? '']);
  expect(names).toContain('corral/Chart.yaml');
  expect(names).not.toContain('corral/ci/');
  const { stdout: about } = await run('tar', ['-xzOf', one?.packed ?? '', 'corral/Chart.yaml']);
  expect(parse(about)).toMatchObject({
    name: 'corral',
    annotations: { 'corral.dev/registry': 'registry.example.com/team' },
  });
});

test('the list of parts has npm’s packages, Node, and each of Debian’s packages once, and is the same each time', async () => {
  const libc = { name: 'libc6', version: '2.36-9+deb12u13', architecture: 'amd64' };
  const contents = { debian: { corral: [libc], 'corral-local': [libc] }, node: { version: '24.21.0' } };
  const text = await sbom(origin, contents);
  expect(text === (await sbom(origin, contents))).toBe(true);
  const { components, metadata } = JSON.parse(text) as {
    readonly components: readonly { readonly purl: string; readonly properties?: readonly object[] }[];
    readonly metadata: { readonly timestamp: string };
  };
  expect(metadata.timestamp).toBe('2026-11-23T09:08:23.000Z');
  const purls = components.map(({ purl }) => purl);
  expect(new Set(purls).size).toBe(purls.length);
  expect(purls).toEqual(
    expect.arrayContaining([
      expect.stringContaining('pkg:npm/fastify@') as string,
      'pkg:generic/node@24.21.0',
      'pkg:deb/debian/libc6@2.36-9%2Bdeb12u13?arch=amd64&distro=bookworm',
    ]),
  );
  expect(purls.join(' ')).not.toContain('vitest');
  expect(components.at(-1)?.properties).toHaveLength(2);
});

test('sha256sum accepts the checksums, and finds a file that was changed', async () => {
  const place = await mkdtemp(join(folder, 'sums-'));
  await writeFile(join(place, 'a'), 'a');
  await writeChecksums(place, 'SHA256SUMS');
  const check = () => run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: place });
  expect((await check()).stdout).toBe('a: OK\n');
  await writeFile(join(place, 'a'), 'b');
  await expect(check()).rejects.toThrow();
});
