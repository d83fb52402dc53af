import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runCorral } from '#test/support/command-line.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { exitCodes } from '../command-error.ts';

async function run(cluster: string, ...options: readonly string[]) {
  await using folder = await environmentFolder({ 'cluster.yaml': cluster });
  return runCorral(['cluster', 'manifests', '--file', join(folder.path, 'cluster.yaml'), ...options]);
}

const plain = '{ namespace: sandboxes, sandboxd: baked, networks: { mirrors: {} } }';

describe('corral cluster manifests', () => {
  test('prints objects that kubectl applies, of the fleet and namespaces that were named', async () => {
    const { exitCode, printed } = await run(plain, '--fleet', 'lab', '--home', 'control');
    expect(exitCode).toBe(exitCodes.done);
    const objects = parseAllDocuments(printed).map((document) => document.toJS() as object);
    expect(objects).toContainEqual(
      expect.objectContaining({
        kind: 'ServiceAccount',
        metadata: expect.objectContaining({ name: 'lab-controller', namespace: 'control' }) as object,
      }),
    );
    expect(printed).toContain('name: lab-network-mirrors');
  });

  test('prints one List with --json', async () => {
    const { printed } = await run(plain, '--fleet', 'lab', '--json');
    expect(JSON.parse(printed)).toMatchObject({ kind: 'List', items: expect.any(Array) as unknown });
  });

  test.each([
    ['a fleet name that no label takes', plain, ['--fleet', 'Red Fleet'], /not a good name: Red Fleet/],
    [
      'processes among the sandboxes',
      plain,
      ['--fleet', 'lab', '--home', 'sandboxes'],
      /cannot share the namespace sandboxes/,
    ],
    [
      'a mistake in the cluster file',
      '{ namespace: a }',
      ['--fleet', 'lab'],
      /cluster\.yaml:1: needs the field sandboxd/,
    ],
  ])('refuses %s as the caller’s', async (_what, cluster, options, sentence) => {
    const { exitCode, printed, said } = await run(cluster, ...options);
    expect(exitCode).toBe(exitCodes.yours);
    expect(printed).toBe('');
    expect(said).toMatch(sentence);
  });
});
