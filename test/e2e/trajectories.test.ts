import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RegradeReport } from '#cli/regrade/regrade.ts';
import { type ExtraGateway, startExtraGateway } from '#loadtest/fleet/extra-gateway.ts';
import { type Faces, facesOf } from '../support/faces.ts';
import { runCorral } from '../support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';
import { type S3OfTest, startS3 } from '../support/moto.ts';

/*
 * A gateway that stores trajectories in S3 and has gone, its log's folder too: what it stored is read. Another one has a store that is
 * away, and plays as if it had none.
 */

const environment = `
name: kept
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: text, match: exact, reference: item.answer }
keep: all
pool: { min_ready: 2, max: 6 }
`;

const place = 's3://shelf/lab';
let corral: FleetOfTest;
let s3: S3OfTest;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-trajectories-'));
  s3 = await startS3('shelf');
  corral = await startFleetOfTest({ environments: { kept: environment } });
  Object.assign(process.env, s3.variables);
  const gateway = await extra('stored', { ...s3.variables, CORRAL_TRAJECTORIES: place });
  const faces = facesOf(gateway.url, corral.fleet.apiKey, { environment: 'kept' });
  await play(faces, 'right', 'echo one', 'forty-two');
  await play(faces, 'long', 'seq 5000', 'Forty-Two');
  await call(faces, 'running', 'echo still here');
  await gateway.stop();
  rmSync(join(folder, 'stored'), { recursive: true });
});
afterAll(async () => {
  await corral.stop();
  await s3.stop();
  for (const name of Object.keys(s3.variables)) delete process.env[name];
  rmSync(folder, { recursive: true });
});

const extra = (name: string, settings: Readonly<Record<string, string>>): Promise<ExtraGateway> =>
  startExtraGateway(corral.fleet, corral.environmentsDir, undefined, {
    CORRAL_EVENT_LOG_DIR: join(folder, name),
    ...settings,
  });

const itemOf = (trace: string) => ({ id: trace, answer: 'forty-two' });

async function call(by: Faces, trace: string, command: string): Promise<void> {
  const asked = { trace, call: 'c1', command, environment: 'kept', item: itemOf(trace) };
  expect(await by.rft.call(asked)).toMatchObject({ status: 200 });
}

async function play(by: Faces, trace: string, command: string, answer: string): Promise<void> {
  await call(by, trace, command);
  const sample = { output_text: answer };
  const graded = await by.rft.grade({ trace, environment: 'kept', item: itemOf(trace), sample });
  expect(graded).toMatchObject({ status: 200 });
}

const regrade = async (grader: string) => {
  const file = join(folder, 'newer.yaml');
  writeFileSync(file, `grader: ${grader}\n`);
  const { stateDir } = corral.fleet;
  const how = ['--grader', file, '--store', place, '--state', stateDir, '--json'];
  const ran = await runCorral(['regrade', 'development', ...how]);
  return { ...ran, report: JSON.parse(ran.printed) as RegradeReport };
};

test('rollouts whose gateway is gone are graded again from the store', async () => {
  const { report, exitCode } = await regrade('{ kind: text, match: normalised, reference: item.answer }');
  const scores = Object.fromEntries(report.rollouts.map((one) => [one.rollout, [one.old, one.new]]));
  expect(scores).toEqual({ right: [1, 1], long: [0, 1] });
  expect(exitCode).toBe(0);
});

test('a grader that reads what calls said gets no rollout whose text was cut: it is listed, and never scored', async () => {
  const { report, exitCode } = await regrade(
    '{ kind: calls, opened: { reference: item.answer, tools: { shell: command } } }',
  );
  expect(report.rollouts.map(({ rollout }) => rollout)).toEqual(['right']);
  expect(report.left_out).toContainEqual({
    rollout: 'long',
    reason: 'not_regradable',
    why: expect.stringContaining('1 outputs are cut or missing'),
  });
  expect(report.summary.rollouts).toBe(1);
  expect(exitCode).toBe(1);
});

test('the texts of a rollout that still runs are read from the store', async () => {
  const { stateDir } = corral.fleet;
  const how = ['--run', 'development', '--texts', '--store', place, '--state', stateDir, '--json'];
  const { printed } = await runCorral(['rollout', 'running', ...how]);
  expect(JSON.parse(printed)).toMatchObject({
    texts: {
      place: `${place}/`,
      unreadable: [],
      calls: [{ call: 'c1', output: { text: expect.stringContaining('still here') } }],
      missing: [],
    },
  });
});

test('a store that is away delays and fails no call and no grade, and its lost lines are counted', async () => {
  const blocked = join(folder, 'blocked');
  writeFileSync(blocked, 'a file where the folder would be');
  const gateway = await extra('away', { CORRAL_TRAJECTORIES: join(blocked, 'store') });
  const faces = facesOf(gateway.url, corral.fleet.apiKey, { environment: 'kept' });
  await play(faces, 'away', 'echo one', 'forty-two');
  const lost = async () => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return Number(/^corral_trajectory_lines_dropped_total(?:\{[^}]{0,200}\})? (\d{1,9})$/m.exec(text)?.[1]);
  };
  expect(await lost()).toBe(0);
  await expect.poll(lost, { timeout: 100_000 }).toBeGreaterThan(0);
  await play(faces, 'away-2', 'echo one', 'forty-two');
  await gateway.stop();
  expect(readdirSync(join(folder, 'away/kept')).length).toBeGreaterThan(0);
});
