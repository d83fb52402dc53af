import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

/*
 * A client that a public generator (oazapfts) writes from /openapi.json is type-checked with a program that uses it, and plays
 * a rollout on a real fleet. This generator reads as text whatever may also be a JSON failure, so the file here is text.
 */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const bin = (name: string) => join(root, 'node_modules/.bin', name);

const program = `
import * as corral from './client.ts';

const ok = <Answer extends { status: number; data: unknown }>(answer: Answer): Extract<Answer, { status: 200 | 201 }> => {
  if (answer.status !== 200 && answer.status !== 201) throw new Error(JSON.stringify(answer));
  return answer as Extract<Answer, { status: 200 | 201 }>;
};

export async function play(baseUrl: string, key: string, id: string) {
  corral.defaults.baseUrl = baseUrl;
  corral.defaults.headers = { authorization: \`Bearer \${key}\` };
  const opened: corral.Rollout = ok(
    await corral.openRollout({ rollout_id: id, environment: 'shell', item: { answer: '42' } }),
  ).data;
  ok(await corral.writeFile(id, 'sum.txt', new Blob(['6 * 7'])));
  const result: corral.CallResult = ok(
    await corral.runCommand(id, { call_id: 'x1', command: 'echo $(($(cat sum.txt))) | tee answer.txt' }),
  ).data;
  const read: Blob = ok(await corral.readFile(id, 'answer.txt')).data;
  const grade: corral.Grade = ok(
    await corral.gradeRollout(id, { sample: { output_text: result.stdout.trim() } }),
  ).data;
  ok(await corral.finishRollout(id));
  return { attempt: opened.attempt, exit: result.exit_code, read, score: grade.score };
}
`;

let folder: string;
beforeAll(async () => {
  // Below the repository, so that the client finds its runtime.
  await mkdir(join(root, 'out'), { recursive: true });
  folder = await mkdtemp(join(root, 'out/generated-client-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Program = { play(baseUrl: string, key: string, id: string): Promise<unknown> };

test('a generated client opens, uploads, runs, reads a file and grades', async () => {
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  const document = join(folder, 'openapi.json');
  await writeFile(document, await (await fetch(`${gatewayUrl}/openapi.json`)).text());
  await run(process.execPath, [bin('oazapfts'), document, join(folder, 'client.ts')]);
  const file = join(folder, 'program.ts');
  await writeFile(file, program);
  const options = ['--noEmit', '--strict', '--allowImportingTsExtensions', '--skipLibCheck'];
  const target = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  await run(process.execPath, [bin('tsc'), ...options, ...target, '--ignoreConfig', file], { cwd: root });
  const generated = (await import(pathToFileURL(file).href)) as Program;
  expect(await generated.play(gatewayUrl, apiKey, `generated-${Date.now()}`)).toEqual({
    attempt: 1,
    exit: 0,
    read: '42\n',
    score: 1,
  });
});
