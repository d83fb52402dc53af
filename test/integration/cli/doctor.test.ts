import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { Diagnosis } from '#cli/doctor/finding.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const shell = `
name: shell
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
`;

let corral: FleetOfTest;
beforeAll(async () => void (corral = await startFleetOfTest({ environments: { shell } })));
afterAll(() => corral.stop());

const examine = async (...args: readonly string[]) => {
  const { exitCode, printed } = await runCorral(['doctor', '--json', ...args]);
  return { exitCode, findings: (JSON.parse(printed) as Diagnosis).findings };
};

test('a fleet that runs is in order: Redis, environments and processes are looked at', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const fleet = () => examine('--url', gatewayUrl, '--key', apiKey);
  const problems = async () => (await fleet()).findings.filter(({ state }) => state === 'problem');
  // Right after its start a fleet does not know all of its own processes yet.
  await expect.poll(problems, { timeout: 20_000 }).toEqual([]);
  const { exitCode, findings } = await fleet();
  expect(exitCode).toBe(exitCodes.done);
  const inOrder = findings.filter(({ state }) => state === 'ok').map(({ what }) => what);
  expect(inOrder).toEqual(expect.arrayContaining(['Redis', 'environments', 'processes']));
});

test('a machine without its environments is a problem, with a fix and exit code 1', async () => {
  const { exitCode, findings } = await examine('--environments', '/nowhere', '--state', '/nowhere/state');
  expect(exitCode).toBe(exitCodes.notInOrder);
  expect(findings.find(({ what }) => what === 'environment files')).toMatchObject({
    state: 'problem',
    fix: expect.stringContaining('--environments') as string,
  });
});
