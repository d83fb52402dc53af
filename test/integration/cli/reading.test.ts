import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '#cli/program.ts';
import { createEventLog } from '#src/adapters/event-log/event-log.ts';
import { bootId, callId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';

let folder = '';
let server: Server | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-reading-'));
});
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a command on this state folder and collects what it says. */
async function corral(...args: readonly string[]) {
  const results: string[] = [];
  const remarks: string[] = [];
  const terminal = {
    result: (text: string) => void results.push(text),
    remark: (text: string) => void remarks.push(text),
    width: 120,
  };
  const code = await runCommandLine([...args, '--state', folder], terminal);
  return { code, said: results.join('\n'), remarks: remarks.join('\n') };
}

/** A gateway that gives the same answer to everything; its state folder names it. */
async function gatewayAnswering(status: number, body: unknown) {
  server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(folder, 'fleet.json'), JSON.stringify({ gatewayUrl: `http://127.0.0.1:${port}` }));
  writeFileSync(join(folder, 'development.key'), 'corral_development_x\n');
}

const failure = (code: string, blame: string, message: string) => ({
  error: {
    code,
    blame,
    message,
    rollout_id: null,
    admitted: 'no',
    retryable: false,
    tainted: false,
    evidence: {},
  },
});

/** What a fleet that has since forgotten wrote down. */
async function writeEvents(...more: readonly RolloutEvent[]) {
  const events = join(folder, 'events');
  mkdirSync(events);
  const quiet = createLogger({ service: 'test', level: 'error', clock: systemClock });
  const log = createEventLog({
    folder: events,
    process: 'gateway',
    clock: systemClock,
    random: systemRandom,
    log: quiet,
  });
  const owner = { tenant: tenantId('t'), run: runId('nightly'), attempt: 1, role: 'policy' } as const;
  for (const rollout of ['trace_1', 'trace_2']) {
    log.append({
      kind: 'verdict',
      atMs: systemClock.nowMs(),
      key: rolloutKey({ ...owner, rollout: rolloutId(rollout) }),
      keyId: 'trainer',
      environment: 'shell',
      version: 'abc',
      verdict: rollout === 'trace_1' ? { kind: 'discard', code: 'sandbox_lost' } : { kind: 'scorable' },
      score: rollout === 'trace_1' ? null : 0.5,
      suspected: null,
      evidence: { signal: 'SIGKILL' },
    });
  }
  for (const event of more) log.append(event);
  await log.flush();
}

describe('where the fleet has forgotten or does not run, the event log is told', () => {
  test('runs', async () => {
    await writeEvents();
    const { code, said } = await corral('runs');
    expect(code).toBe(0);
    expect(said).toMatch(/nightly +event log +2 +– +1 +1 +sandbox_lost 1/);
  });

  test('rollouts that were discarded', async () => {
    await writeEvents();
    const { said } = await corral('rollouts', '--verdict', 'discard', '--json');
    expect(JSON.parse(said)).toMatchObject([
      { rolloutId: 'trace_1', code: 'sandbox_lost', source: 'event log' },
    ]);
  });

  test('one rollout that the gateway knows no more', async () => {
    await writeEvents();
    await gatewayAnswering(404, failure('rollout_unknown', 'infrastructure', 'no such rollout'));
    const { code, said } = await corral('rollout', 'trace_1', '--run', 'nightly');
    expect(code).toBe(0);
    expect(said).toContain('verdict      discard: sandbox_lost');
  });

  test('a fleet that was killed leaves its address behind, and nothing answers there', async () => {
    await writeEvents();
    await gatewayAnswering(200, {});
    server?.closeAllConnections();
    server?.close();
    expect((await corral('runs')).code).toBe(0);
  });
});

/** Clears the screen, goes back to the line's beginning, turns text around, and begins a line that looks like ours. */
const orders = '\u001B[2J\u009B1A\r\u202E\nverdict      forged';

/** Our own line breaks, and nothing else that a terminal obeys. */
const onlyText = /^(?:\n|[^\p{Cc}\p{Cf}])*$/u;

/** A rollout that chose its own name and run, and ran a command; all of it orders to a terminal. */
const hostile = (score: number | null): readonly RolloutEvent[] => {
  const key = rolloutKey({
    tenant: tenantId('t'),
    run: runId(`run${orders}`),
    rollout: rolloutId(score === null ? 'lost' : 'scored'),
    attempt: 1,
    role: 'policy',
  });
  const common = {
    atMs: systemClock.nowMs(),
    key,
    keyId: 'trainer',
    environment: `shell${orders}`,
    version: orders,
  };
  const summary = {
    call: callId(`call${orders}`),
    tool: `tool${orders}`,
    state: 'settled',
    outcome: score === null ? 'infrastructure_failure' : 'completed',
    code: score === null ? 'sandbox_lost' : null,
    admitted: 'yes',
    exitCode: null,
    startedAtMs: 1000,
    durationMs: 12,
    waitedMs: 3,
    outputBytes: 42,
    sandbox: sandboxId(`s${orders}`),
  } as const;
  return [
    {
      ...common,
      kind: 'call_settled',
      blame: null,
      epoch: { sandbox: sandboxId(`s${orders}`), boot: bootId(orders) },
      lastCommand: `sh -c "${orders}"`,
      evidence: { words: orders },
      summary,
    },
    {
      ...common,
      kind: 'verdict',
      verdict: score === null ? { kind: 'discard', code: 'sandbox_lost' } : { kind: 'scorable' },
      score,
      suspected: score === null ? 'command' : null,
      evidence: { words: orders },
    },
  ];
};

describe('what the policy and the trainer wrote is shown, never obeyed by the terminal', () => {
  test.each([
    [['runs']],
    [['run', `run${orders}`]],
    [['rollouts']],
    [['rollout', 'scored']],
    [['rollout', 'lost']],
    [['rollout', 'lost', '--json']],
    [['rollout', `--${orders}`]],
  ])('%j', async (args) => {
    await writeEvents(...hostile(null), ...hostile(0.5));
    const { said, remarks } = await corral(...args);
    expect(`${said}${remarks}`).toContain(String.raw`\u001b[2J\u009b1A`);
    expect(`${said}${remarks}`).toMatch(onlyText);
    expect(`${said}${remarks}`).not.toMatch(/^verdict {6}forged$/m);
  });

  test('what a gateway says', async () => {
    await gatewayAnswering(503, failure('state_unavailable', 'infrastructure', `no${orders}`));
    const { remarks } = await corral('runs');
    expect(remarks).toMatch(onlyText);
    expect(remarks).not.toMatch(/^verdict/m);
  });
});

describe('errors say what happened, whose fault it is and what to do', () => {
  test('no fleet and no event: exit code 2', async () => {
    const { code, remarks } = await corral('runs');
    expect(code).toBe(2);
    expect(remarks).toMatch(/no fleet runs.*cause: your input.*corral up/s);
  });

  test('a wrong key: exit code 2, and the event log is not asked instead', async () => {
    await writeEvents();
    await gatewayAnswering(401, failure('unauthorized', 'caller', 'this key is not known'));
    const { code, remarks, said } = await corral('runs');
    expect([code, said]).toEqual([2, '']);
    expect(remarks).toMatch(/this key is not known.*--key/s);
  });

  test('something else listens there: exit code 3 and what it said', async () => {
    await gatewayAnswering(200, '<html>Welcome to nginx</html>');
    const { code, remarks } = await corral('runs');
    expect(code).toBe(3);
    expect(remarks).toMatch(/not Corral's: <html>Welcome.*prox/s);
  });

  test('a fleet in trouble: exit code 3', async () => {
    await gatewayAnswering(503, failure('state_unavailable', 'infrastructure', 'Redis does not answer'));
    const { code, remarks } = await corral('runs');
    expect(code).toBe(3);
    expect(remarks).toMatch(/Redis does not answer.*cause: the fleet/s);
  });

  test('a rollout that nobody knows: exit code 2', async () => {
    await writeEvents();
    expect((await corral('rollout', 'trace_9')).code).toBe(2);
  });
});

/** A rollout's events as one process or another would have written them. */
const told = {
  owner: {
    tenant: tenantId('t'),
    run: runId('nightly'),
    rollout: rolloutId('trace_5'),
    attempt: 1,
    role: 'policy',
  },
} as const;
const common = { key: rolloutKey(told.owner), environment: 'shell', version: 'abc' };

const called = (call: string, keyId: string, command: string): RolloutEvent => ({
  kind: 'call_settled',
  ...common,
  atMs: 1_000,
  keyId,
  blame: null,
  epoch: null,
  lastCommand: command,
  evidence: {},
  summary: {
    call: callId(call),
    tool: 'shell',
    state: 'settled',
    outcome: 'completed',
    code: null,
    admitted: 'yes',
    exitCode: 0,
    startedAtMs: 1_000,
    durationMs: 12,
    waitedMs: 3,
    outputBytes: 42,
    sandbox: null,
  },
});

const scored: RolloutEvent = {
  kind: 'verdict',
  ...common,
  atMs: 2_000,
  keyId: 'grader',
  verdict: { kind: 'scorable' },
  score: 0.5,
  suspected: null,
  evidence: {},
};

const deleted: RolloutEvent = {
  kind: 'rollout_closed',
  ...common,
  atMs: 3_000,
  keyId: 'operator',
  by: 'deleted',
};

/** What is told of a file that has this. */
async function storyOf(text: string) {
  const file = join(folder, 'saved.log');
  writeFileSync(file, text);
  return corral('rollout', 'trace_5', '--events', file);
}

describe('a story from a file of lines, where they went to standard output', () => {
  const lines = [
    '{"time":"2026-11-21T12:00:00Z","level":"info","service":"gateway","message":"listening"}',
    JSON.stringify(called('c1', 'trainer', 'echo one')),
    'not even JSON {"kind":"verdict"}',
    `[pod/lab-gateway-7d9f-abcde/gateway] 2026-11-21T12:00:01.123456789Z ${JSON.stringify(called('c2', 'operator', 'echo two'))}`,
    // A sandbox's own log, saved with the others; what it says of a rollout is no event of ours.
    `[pod/sandbox-1/sandbox] ${JSON.stringify({ ...scored, score: 1 })}`,
    JSON.stringify({
      ...scored,
      key: rolloutKey({ ...told.owner, rollout: rolloutId('trace_6') }),
      score: 1,
    }),
    // The same pod's log was saved twice.
    JSON.stringify(called('c1', 'trainer', 'echo one')),
    '{"kind":"verdict","atMs":',
    JSON.stringify(scored),
    JSON.stringify(deleted),
    '',
  ];

  test('calls, keys and the score are told; lines of others, doubles and halves are passed over', async () => {
    const { code, said } = await storyOf(lines.join('\n'));
    expect(code).toBe(0);
    expect(said).toMatch(/^key +trainer, operator, grader$/m);
    expect(said).toMatch(/^score +0\.500$/m);
    expect(said).toMatch(/c1 +shell +completed, exit 0 after 12 ms +– +trainer .* echo one/);
    expect(said).toMatch(/c2 +shell +completed, exit 0 after 12 ms +– +operator .* echo two/);
    expect(said).toMatch(/^state .*; deleted, key operator$/m);
    expect(said.match(/echo one/g)).toHaveLength(1);
    expect(said).not.toContain('not told');
  });

  test('of a file with a million lines of others only those of the rollout are kept', async () => {
    const other = JSON.stringify({ ...scored, key: rolloutKey({ ...told.owner, rollout: rolloutId('x') }) });
    const flood = `${other}\n`.repeat(100_000);
    const { said } = await storyOf(`${flood}${'x'.repeat(5_000_000)}\n${lines.join('\n')}`);
    expect(said).toMatch(/^score +0\.500$/m);
  });

  test('a file that is not there: exit code 2, and what to give instead', async () => {
    const { code, remarks } = await corral('rollout', 'trace_5', '--events', join(folder, 'none'));
    expect([code, remarks]).toEqual([2, expect.stringMatching(/ENOENT.*cause: your input.*standard input/s)]);
  });

  test('from standard input, as from a pipe of kubectl logs', () => {
    const args = ['cli/main.ts', 'rollout', 'trace_5', '--events', '-', '--state', folder, '--json'];
    const cwd = join(import.meta.dirname, '../../..');
    const { stdout } = spawnSync(process.execPath, args, { cwd, input: lines.join('\n'), encoding: 'utf8' });
    expect(JSON.parse(stdout)).toMatchObject({
      score: 0.5,
      keyIds: ['trainer', 'operator', 'grader'],
      closedByKey: 'operator',
      calls: [
        { callId: 'c1', keyId: 'trainer' },
        { callId: 'c2', keyId: 'operator' },
      ],
      missing: [],
    });
  });

  test('a run from lines', async () => {
    const file = join(folder, 'saved.log');
    writeFileSync(file, lines.join('\n'));
    const { said } = await corral('run', 'nightly', '--events', file);
    expect(said).toMatch(/rollouts +2: 2 scored, 0 discarded/);
  });
});

/** A gateway that has forgotten every rollout and tells these lines of them. */
async function gatewayTelling(...lines: readonly unknown[]) {
  await gatewayAnswering(404, failure('rollout_unknown', 'infrastructure', 'no such rollout'));
  server?.removeAllListeners('request');
  server?.on('request', (request: { readonly url: string }, response: ServerResponse) => {
    const isEvents = request.url.endsWith('/events');
    response.writeHead(isEvents ? 200 : 404, {
      'content-type': isEvents ? 'application/x-ndjson' : 'application/json',
    });
    const body = JSON.stringify(failure('rollout_unknown', 'infrastructure', 'no such rollout'));
    response.end(isEvents ? lines.map((line) => `${JSON.stringify(line)}\n`).join('') : body);
  });
}

const keeper = (name: string, how: object) => ({ keeper: name, heard_at_ms: 1_000, why: null, ...how });

describe('a story from a gateway, which asked the others', () => {
  const whole = keeper('gateway a', { told: 'all' });

  test('is told instead of the folder of this machine, and whoever did not tell is named with why', async () => {
    await writeEvents({ ...scored, score: 0.125 });
    const gone = keeper(`gateway b${orders}`, { told: 'nothing', why: 'it is gone' });
    const half = keeper('controller c', { told: 'some', why: `it broke off${orders}` });
    await gatewayTelling(called('c1', 'trainer', 'echo'), scored, {
      kind: 'keepers',
      keepers: [whole, gone, half],
    });
    const { code, said } = await corral('rollout', 'trace_5', '--run', 'nightly');
    expect(code).toBe(0);
    expect(said).toMatch(/^score +0\.500$/m);
    expect(said).toMatch(/^not told\n {2}gateway b.*: it is gone, last\s+heartbeat\s+1970-01-01T00:00:01Z;/m);
    expect(said.replaceAll(/\s+/g, ' ')).toMatch(
      /controller c: it broke off.*; some of its part of the story is missing/,
    );
    expect(said).not.toContain('gateway a');
    expect(said).toMatch(onlyText);
    expect(said).not.toMatch(/^verdict {6}forged$/m);
  });

  test('that was told whole has no word of what is missing', async () => {
    await gatewayTelling(scored, { kind: 'keepers', keepers: [whole] });
    expect((await corral('rollout', 'trace_5', '--run', 'nightly')).said).not.toContain('not told');
  });

  test('that breaks off says so', async () => {
    await gatewayTelling(scored);
    const { said } = await corral('rollout', 'trace_5', '--run', 'nightly');
    expect(said.replaceAll(/\s+/g, ' ')).toMatch(
      /the gateway at http:\S+: its answer broke off; some of its part/,
    );
  });

  test('of another rollout is not believed to be of this one', async () => {
    const other = { ...scored, key: rolloutKey({ ...told.owner, rollout: rolloutId('trace_6') }) };
    await gatewayTelling(other, { kind: 'keepers', keepers: [whole] });
    expect((await corral('rollout', 'trace_5', '--run', 'nightly')).code).toBe(2);
  });
});
