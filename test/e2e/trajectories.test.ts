import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import type { RegradeReport } from '#cli/regrade/regrade.ts';
import type { Study } from '#cli/study/found.ts';
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

test('a run whose log is gone is studied from the store, with what the store does not have', async () => {
  const how = ['--run', 'development', '--store', place, '--out', join(folder, 'study.html'), '--json'];
  const { printed, exitCode } = await runCorral(['study', 'kept', ...how]);
  const study = JSON.parse(printed) as Study;
  expect(exitCode).toBe(0);
  expect(study.missing).toEqual([expect.stringContaining('discarded and ungraded rollouts')]);
  expect(study.subjects.map(({ name, rollouts }) => [name, rollouts])).toEqual([['development', 2]]);
  const none = await runCorral(['study', 'other', ...how]);
  expect(none.said).toContain('no rollout of other of the run development is kept');
});

test('a store that is away delays and fails no call and no grade, and a gateway that ends says that it lost its lines', async () => {
  const blocked = join(folder, 'blocked');
  writeFileSync(blocked, 'a file where the folder would be');
  const gateway = await extra('away', { CORRAL_TRAJECTORIES: join(blocked, 'store') });
  const faces = facesOf(gateway.url, corral.fleet.apiKey, { environment: 'kept' });
  await play(faces, 'away', 'echo one', 'forty-two');
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(text).toMatch(/^corral_trajectory_lines_dropped_total(?:\{[^}]{0,200}\})? 0$/m);
  await gateway.stop();
  const log = readFileSync(join(stateFolderAt(corral.fleet.stateDir).logs, 'extra-gateway.jsonl'), 'utf8');
  expect(log).toContain('the last trajectories are not stored');
  expect(readdirSync(join(folder, 'away/kept')).length).toBeGreaterThan(0);
});
