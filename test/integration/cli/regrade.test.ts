import { appendFileSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { stateFolderAt } from '#cli/fleet/state-folder.ts';
import type { RegradeReport } from '#cli/regrade/regrade.ts';
import { keptFolder, keptLines } from '#src/adapters/event-log/kept-log.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/* A run is played and graded once; then newer graders look at what was kept of it. */

const yaml = (name: string, keep: boolean) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
grader: { kind: text, match: exact, reference: item.answer }
keep: ${keep}
pool: { min_ready: 2, max: 6 }
`;
/** What the policy left is read and run where it never was; the newer grader is kinder. */
const finder = (name: string, artifacts: string, wanted: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 64 }
tools: { shell: { builtin: shell } }
setup: [[sh, -c, 'mkdir src && echo echo laid there > src/stale.sh']]
grader:
  kind: command
  grade_in: fresh
  artifacts: [${artifacts}]
  on_artifacts: 0.125
  command: [sh, -c, 'as-policy sh src/answer.sh > "$TMPDIR/said"; as-policy ls src >&2; exec sh "$CORRAL_GRADER_DIR/judge.sh"']
  files:
    from: "tests/{item.id}/"
    judge.sh: 'test -e "$CORRAL_GRADER_DIR/expected" && ${wanted} && echo 1 > "$CORRAL_SCORE_FILE" || echo 0 > "$CORRAL_SCORE_FILE"'
  timeout: 60s
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
keep: true
pool: { min_ready: 1, max: 16, grader: { min_ready: 1, max: 2 } }
`;
/** The same of all that the policy changed: setup is a part of neither sandbox’s image. */
const changer = (name: string, wanted: string) =>
  finder(name, '', wanted)
    .replace(/artifacts: .*/u, 'changes: { below: [.] }')
    .replace(/setup: .*\n/u, '');
const exactly = 'cmp -s "$TMPDIR/said" "$CORRAL_GRADER_DIR/expected"';
const inAnyCase = 'grep -qix "$(cat "$CORRAL_GRADER_DIR/expected")" "$TMPDIR/said"';
const secret = 'corral-judge-secret';

let corral: FleetOfTest;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-regrade-'));
  corral = await startFleetOfTest({
    environments: {
      kept: yaml('kept', true),
      unkept: yaml('unkept', false),
      finder: finder('finder', 'src/, empty/, "out/*"', exactly),
      newer: finder('newer', 'src/, empty/', inAnyCase),
      changer: changer('changer', exactly),
      changed: changer('changed', inAnyCase),
      other: finder('other', 'src/, lib/', inAnyCase),
    },
    files: { 'tests/forty/expected': 'forty-two\n' },
  });
  await play('right', ['cat lib/a.ts', 'echo 1'], 'forty-two');
  await play('loud', ['echo 1', 'echo 2', 'echo 3'], 'Forty-two!');
  await play('wrong', [], 'seven');
  await play('elsewhere', [], 'forty-two', 'unkept');
  // What is kept is written out beside the answers, not before them.
  await vi.waitFor(
    async () => {
      const { report } = await corralRegrade(
        '{ kind: text, match: exact, reference: item.answer }',
        '--json',
      );
      expect(report().rollouts).toHaveLength(3);
    },
    { timeout: 30_000, interval: 100 },
  );
});
afterAll(async () => {
  await corral.stop();
  rmSync(folder, { recursive: true });
});

async function play(trace: string, commands: readonly string[], answer: string, environment = 'kept') {
  const item = { id: trace, answer: 'forty-two', main: 'lib/a.ts' };
  for (const [index, command] of commands.entries())
    expect(await corral.rft.call({ trace, call: `c${index}`, command, environment, item })).toMatchObject({
      status: 200,
    });
  const graded = await corral.rft.grade({ trace, environment, item, sample: { output_text: answer } });
  expect(graded).toMatchObject({ status: 200 });
}

async function corralRegrade(grader: string, ...more: readonly string[]) {
  const file = join(folder, 'newer.yaml');
  writeFileSync(file, `grader: ${grader}\n`);
  const { stateDir } = corral.fleet;
  const ran = await runCorral(['regrade', 'development', '--grader', file, '--state', stateDir, ...more]);
  return { ...ran, report: () => JSON.parse(ran.printed) as RegradeReport };
}

const scores = ({ rollouts }: RegradeReport) =>
  Object.fromEntries(rollouts.map((one) => [one.rollout, [one.old, one.new]]));

test('a comparison that is kinder gives new scores beside the old ones, and rollouts that were not kept are not there', async () => {
  const { exitCode, report } = await corralRegrade(
    '{ kind: text, match: normalised, reference: item.answer }',
    '--json',
  );
  expect(scores(report())).toEqual({ right: [1, 1], loud: [0, 1], wrong: [0, 0] });
  expect(report().summary).toEqual({
    rollouts: 3,
    voided: 0,
    regraded: 3,
    higher: 1,
    lower: 0,
    same: 2,
    old_mean: 1 / 3,
    new_mean: 2 / 3,
  });
  expect(exitCode).toBe(exitCodes.done);
});

test('what a rollout did is graded as it was: calls, their outputs and how many there were', async () => {
  const grader = `
  kind: penalty
  free_calls: 2
  each: 0.25
  grader: { kind: calls, opened: { reference: item.main, tools: { shell: command } } }`;
  const { report } = await corralRegrade(grader, '--json');
  // Nobody opened the file by its name alone.
  expect(scores(report())).toEqual({ right: [1, 0], loud: [0, 0], wrong: [0, 0] });
  const counted =
    '{ kind: penalty, free_calls: 2, each: 0.25, grader: { kind: text, match: normalised, reference: item.answer } }';
  expect(scores((await corralRegrade(counted, '--json')).report())).toMatchObject({
    right: [1, 1],
    loud: [0, 0.75],
  });
});

test('a program looks at the whole rollout in a sandbox of its own, and the fleet’s own records stay as they were', async () => {
  const count =
    'import json,os; r=json.load(open(os.environ["CORRAL_ROLLOUT"])); open(os.environ["CORRAL_SCORE_FILE"],"w").write(str(len(r["calls"])/4))';
  const grader = `{ kind: command, command: [python3, -c, ${JSON.stringify(count)}], timeout: 60s, on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }`;
  const { report, exitCode } = await corralRegrade(grader, '--json');
  expect(scores(report())).toEqual({ right: [1, 0.5], loud: [0, 0.75], wrong: [0, 0] });
  expect(exitCode).toBe(exitCodes.done);
  const story = await runCorral(['rollout', 'loud', '--state', corral.fleet.stateDir, '--json']);
  expect(JSON.parse(story.printed)).toMatchObject({ score: 0 });
});

test('a judge that fails gives nobody a new score: it is told, counted in no mean, and the command says so', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      asked.push(body);
      const fails = body.includes('"trace_id":"wrong"');
      response.writeHead(fails ? 500 : 200, { 'content-type': 'application/json' });
      response.end(fails ? `busy ${request.headers['authorization']}` : '{"score": 0.5, "reason": "half"}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  vi.stubEnv('CORRAL_SECRET_JUDGE', secret);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const grader = `{ kind: http, url: "${url}", headers: { authorization: { secret: JUDGE } }, calls: true, retries: 0, on_refused: 0 }`;
  try {
    const { report, exitCode, printed } = await corralRegrade(grader, '--json');
    expect(scores(report())).toEqual({ right: [1, 0.5], loud: [0, 0.5], wrong: [0, null] });
    expect(report().rollouts.find(({ rollout }) => rollout === 'wrong')?.why).toContain('grader_failed');
    expect(report().summary).toMatchObject({ rollouts: 3, regraded: 2, old_mean: 0.5, new_mean: 0.5 });
    expect(exitCode).toBe(exitCodes.notInOrder);
    expect(printed).not.toContain(secret);
    expect(asked.find((body) => body.includes('"trace_id":"right"'))).toContain('cat lib/a.ts');
  } finally {
    vi.unstubAllEnvs();
    server.close();
    server.closeAllConnections();
  }
});

test.each([
  ['looks into the sandbox', 'as-policy cat x', 'as-policy'],
  ['does not look at the rollout', 'echo 1', 'does not name CORRAL_ROLLOUT'],
])('a program that %s is refused before anything is asked', async (_what, script, said) => {
  const grader = `{ kind: command, command: [sh, -c, ${JSON.stringify(script)}], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }`;
  const refused = await corralRegrade(grader);
  expect(refused).toMatchObject({ exitCode: exitCodes.yours, said: expect.stringContaining(said) as string });
});

describe('a newer grader that works where the policy never was', () => {
  const run = 'finders';
  const played: Readonly<Record<string, readonly string[]>> = {
    exact: ['echo echo forty-two > src/answer.sh'],
    loud: ['rm src/stale.sh; echo echo Forty-Two > src/answer.sh'],
    // Whatever it writes from there, no score is among it.
    forger: [
      `echo 'for f in /tmp/* /tmp/*/* "$CORRAL_SCORE_FILE"; do echo 1 > "$f"; done; echo 7' > src/answer.sh`,
    ],
    leftNothing: ['rm -r src'],
    // Its grader, too, needs what its task demands.
    demanding: [
      `echo 'test $(head -c 419430400 /dev/zero | tail | wc -c) = 419430400 && echo forty-two' > src/answer.sh`,
    ],
  };
  const requires = { memory_bytes: 1024 ** 3 };
  const item = { id: 'forty' };
  const own = async (method: 'POST' | 'GET', path: string, body?: unknown, as = run) => {
    const { gatewayUrl, apiKey } = corral.fleet;
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'x-corral-run': as,
      'content-type': 'application/json',
    };
    const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${gatewayUrl}/v1/rollouts${path}`, sent);
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { readonly score?: number };
  };
  beforeAll(async () => {
    for (const [rollout, commands] of Object.entries(played)) {
      const demands = rollout === 'demanding' ? { requires } : {};
      await own('POST', '', { rollout_id: rollout, environment: 'finder', item, ...demands });
      const script = ['mkdir empty out', ...commands].join('; ');
      await own('POST', `/${rollout}/exec?wait_s=60`, { call_id: 'c', argv: ['sh', '-c', script] });
      await own('POST', `/${rollout}/grade?wait_s=60`, { sample: { output_text: 'done', output_tools: [] } });
    }
  });
  const byFile = (file: string, as = run) => {
    const { stateDir } = corral.fleet;
    const grader = join(stateDir, '../environments', file);
    return runCorral(['regrade', as, '--grader', grader, '--state', stateDir, '--json']);
  };

  test('is given what the policy left, as it left it: old and new scores stand side by side, and nothing is forged', async () => {
    const { printed, exitCode } = await byFile('newer.yaml');
    const report = JSON.parse(printed) as RegradeReport;
    expect(scores(report)).toEqual({
      exact: [1, 1],
      loud: [0, 1],
      forger: [0, 0],
      leftNothing: [0.125, null],
      demanding: [1, 1],
    });
    expect(report.rollouts.find(({ rollout }) => rollout === 'leftNothing')?.why).toContain(
      'no artifacts were kept: there were none to be had',
    );
    expect(report.summary).toMatchObject({ rollouts: 5, regraded: 4, higher: 1 });
    expect(exitCode).toBe(exitCodes.notInOrder);
  });

  test('is given all that the policy changed, with links and modes, if its artifacts are changes', async () => {
    const scripts = {
      changed:
        'mkdir src bin; echo echo Forty-Two > bin/say; chmod 700 bin/say; ln -s ../bin/say src/answer.sh',
      missing: 'touch src',
    };
    for (const [rollout, script] of Object.entries(scripts)) {
      await own('POST', '', { rollout_id: rollout, environment: 'changer', item }, 'changers');
      await own(
        'POST',
        `/${rollout}/exec?wait_s=60`,
        { call_id: 'c', argv: ['sh', '-c', script] },
        'changers',
      );
      await own('POST', `/${rollout}/grade?wait_s=60`, { sample: {} }, 'changers');
    }
    await vi.waitFor(
      async () => {
        const { printed } = await byFile('changed.yaml', 'changers');
        expect(scores(JSON.parse(printed) as RegradeReport)).toEqual({ changed: [0, 1], missing: [0, 0] });
      },
      { timeout: 60_000, interval: 500 },
    );
  });

  test('is refused for a rollout whose other artifacts were not kept: it has no new score', async () => {
    const { printed, exitCode } = await byFile('other.yaml');
    const report = JSON.parse(printed) as RegradeReport;
    expect(report.summary).toMatchObject({ rollouts: 5, regraded: 0, new_mean: null });
    expect(report.rollouts.find(({ rollout }) => rollout === 'exact')?.why).toContain(
      'its artifacts lib/ were not kept; kept were src/, empty/, out/*',
    );
    expect(exitCode).toBe(exitCodes.notInOrder);
  });

  const newer = finder('newer', 'src/', exactly).replace('from: "tests/{item.id}/"', '');
  test.each([
    [
      'stands in no environment',
      newer.slice(newer.indexOf('grader:'), newer.indexOf('keep:')),
      'not an environment',
    ],
    ['is of an environment that the fleet does not offer', newer, 'does not offer newer'],
    [
      'counts calls beside',
      'grader: { kind: penalty, free_calls: 1, each: 0.1, grader: { kind: command, grade_in: fresh, artifacts: [src/], on_artifacts: 0, command: ["true"], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 } }',
      'a penalty looks at its calls',
    ],
  ])('that %s is refused before anything is graded', async (_what, text, said) => {
    const file = join(mkdtempSync(join(folder, 'elsewhere-')), 'newer.yaml');
    writeFileSync(file, text);
    const { stateDir } = corral.fleet;
    const refused = await runCorral(['regrade', run, '--grader', file, '--state', stateDir]);
    expect(refused).toMatchObject({
      exitCode: exitCodes.yours,
      said: expect.stringContaining(said) as string,
    });
  });
});

test('the table has old and new side by side, and says that nothing was changed', async () => {
  const { printed } = await corralRegrade('{ kind: text, match: normalised, reference: item.answer }');
  expect(printed).toMatch(/loud +loud +0\.000 +1\.000 +\+1\.000/);
  expect(printed).toMatch(
    /3 of 3 rollouts: mean 0\.333 before, 0\.667 now[^]*No stored score was changed\.$/,
  );
});

test('runs of two tenants with one name are never one mean: the tenant is asked for', async () => {
  const here = keptFolder(stateFolderAt(corral.fleet.stateDir).events);
  const lines = await Array.fromAsync(keptLines(here));
  const [tenant = ''] = lines.map((line) => (JSON.parse(line) as { key: string }).key.split('/')[0]);
  const both = join(folder, 'both');
  cpSync(here, both, { recursive: true });
  const others = lines.map((line) => line.replace(`"key":"${tenant}/`, '"key":"another/'));
  for (const { name } of readdirSync(both, { withFileTypes: true }).filter((entry) => entry.isFile()))
    appendFileSync(join(both, name), `${others.join('\n')}\n`);
  const grader = '{ kind: text, match: normalised, reference: item.answer }';
  const refused = await corralRegrade(grader, '--kept', both);
  expect(refused.exitCode).not.toBe(exitCodes.done);
  expect(refused.said).toMatch(/tenants .*another.* each have a run development/);
  const { report } = await corralRegrade(grader, '--kept', both, '--tenant', tenant, '--json');
  expect(scores(report())).toEqual({ right: [1, 1], loud: [0, 1], wrong: [0, 0] });
});

test('no address of the fleet tells what was kept', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const headers = { authorization: `Bearer ${apiKey}` };
  for (const path of ['/v1/rollouts/right/events', '/v1/runs/development/events']) {
    const told = await (await fetch(`${gatewayUrl}${path}`, { headers })).text();
    expect(told).toContain('"kind":"verdict"');
    expect(told).not.toContain('toolCalls');
  }
});

test('a rollout that was voided or not kept is left out, and the report lists it with the reason', async () => {
  const { stateDir } = corral.fleet;
  const reason = ['--reason', 'its row was wrong'];
  const done = await runCorral(['void', 'loud', '--run', 'development', '--state', stateDir, ...reason]);
  expect(done).toMatchObject({ exitCode: exitCodes.done, printed: 'loud: scorable, voided, score 0.000' });
  const grader = '{ kind: text, match: normalised, reference: item.answer }';
  const { report } = await corralRegrade(grader, '--json');
  expect(scores(report())).toEqual({ right: [1, 1], wrong: [0, 0] });
  expect(report().summary).toMatchObject({ rollouts: 2, voided: 1, old_mean: 0.5, new_mean: 0.5 });
  expect(report().left_out).toEqual(
    expect.arrayContaining([
      { rollout: 'loud', reason: 'voided', why: 'its row was wrong' },
      { rollout: 'elsewhere', reason: 'not_kept', why: null },
    ]),
  );
  const { printed } = await corralRegrade(grader);
  expect(printed).toContain(`Left out of both means: ${report().left_out.length}`);
  expect(printed).toMatch(/^loud +voided: its row was wrong$/m);
});
