import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

/*
 * A policy that sees that it will score low wants to be discarded instead. Whatever it does alone is answered 200, and
 * its rollout is graded: never a 5xx, never a taint, never a discard without the mark.
 */

/** Its grader gives every rollout a quarter; what a policy does to it costs that quarter. */
const shell = (name: string, sandbox = '') => `
name: ${name}
sandbox:
  image: host
  cpu: { request: 50m, limit: 500m }
  memory: { request: 32Mi, limit: 128Mi }
  disk: 32Mi
  processes: 64
${sandbox}
tools: { shell: { builtin: shell, timeout: 10s } }
limits: { tool_calls: 200, output_bytes: 4096 }
grader:
  kind: command
  command: [sh, -c, 'echo 0.25 > "$CORRAL_SCORE_FILE"']
  timeout: 20s
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 2, max: 6 }
`;

/** A grader that takes the policy at its word: what it reads is what it writes as the score. */
const led = shell('led').replace("'echo 0.25 >", "'as-policy --timeout 2 cat said >");

/** `port`: of a server that answers whatever it is asked. */
const looking = (port: number) => `
name: looking
sandbox: { image: host, disk: 32Mi }
tools:
  look: { command: [sh, -c, "{command}"], dependency: { exit_code: 75, probe: "tcp://127.0.0.1:${port}", every_s: 1 } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 2 }
`;

const judged = (port: number) => `
name: judged
sandbox: { image: host, disk: 32Mi }
tools: { read_file: { builtin: read_file } }
grader: { kind: http, url: "http://127.0.0.1:${port}/", timeout: 5s, retries: 0, on_refused: 0 }
pool: { min_ready: 0, max: 2 }
`;

/** So much output that a sandbox keeps room for 16 calls: the others wait for those that run. */
const crowded = shell('crowded')
  .replace('output_bytes: 4096', 'output_bytes: 262144')
  .replace('timeout: 10s', 'timeout: 7s')
  .replace('processes: 64', 'processes: 256');

/** Room for 15 of its calls at once, and time for the first of them. */
const hurried = crowded
  .replace('name: crowded', 'name: hurried')
  .replace('output_bytes: 262144', 'output_bytes: 262144, rollout: 2s');

/** A judge with a bound, a filter and a model's weakness: what an answer says is what it does. */
const refusals: Readonly<Record<string, [status: number, said: string]>> = {
  'too long': [413, ''],
  forbidden: [400, 'content policy'],
  walled: [403, 'blocked'],
  unprocessable: [422, 'no such form'],
  'give no number': [200, 'As you asked, I give no number.'],
};

/** Beside what its commands do, queries are answered: nobody the policy can reach does that. */
const searching = (data: string) =>
  shell('searching', `  data: [{ source: ${data}, target: /data }]`).replace(
    'tools: { shell: { builtin: shell, timeout: 10s } }',
    `tools:
  shell: { builtin: shell, timeout: 10s }
  search:
    timeout: 5s
    index: { database: /data/pages.db, sql: 'SELECT text FROM pages WHERE pages MATCH any_word(:words)', each: '{text}' }`,
  );

let data: string;
let judge: Server;
let corral: FleetOfTest;
beforeAll(async () => {
  judge = createServer((request, response) => {
    void text(request).then((body) => {
      const [, refusal] = Object.entries(refusals).find(([words]) => body.includes(words)) ?? [];
      const [status, said] = refusal ?? [200, '{"score":0.25}'];
      response.writeHead(status).end(said);
    });
  });
  judge.listen(0, '127.0.0.1');
  await once(judge, 'listening');
  const { port } = judge.address() as AddressInfo;
  data = await mkdtemp(join(tmpdir(), 'corral-pages-'));
  await chmod(data, 0o755);
  const database = new DatabaseSync(join(data, 'pages.db'));
  database.exec("CREATE VIRTUAL TABLE pages USING fts5(text); INSERT INTO pages VALUES ('net revenue rose')");
  database.close();
  await chmod(join(data, 'pages.db'), 0o644);
  corral = await startFleetOfTest({
    environments: {
      shell: shell('shell'),
      rooted: shell('rooted', '  run_as: root')
        .replace('disk: 32Mi', 'disk: 48Mi')
        .replace(
          'kind: command',
          'kind: command\n  grade_in: fresh\n  artifacts: [log]\n  artifact_bytes: 64Ki\n  on_artifacts: 0',
        ),
      crowded,
      hurried,
      led,
      looking: looking(port),
      judged: judged(port),
      searching: searching(data),
    },
  });
});
afterAll(async () => {
  await corral.stop();
  judge.closeAllConnections();
  judge.close();
  await rm(data, { recursive: true, force: true });
});

const viewOf = async (trace: string) => (await corral.native.get(`/v1/rollouts/${trace}`)).body;

/** Graded like every other rollout, and no worse off for us: not even a mark stands on it that a discard would. */
async function expectScored(trace: string, environment: string, scores: readonly number[]): Promise<void> {
  const grade = await corral.rft.grade({ trace, environment });
  expect({ trace, ...grade }).toMatchObject({ status: 200, body: { score: expect.any(Number) } });
  expect(scores).toContain((grade.body as { score: number }).score);
  expect(await viewOf(trace)).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
}

/** The one rollout that is discarded. */
const crashed = 'root-SEGV';

const quietly = (script: string) => `(${script}) > /dev/null 2>&1 & echo left`;
const loop = (script: string) => `while :; do ${script}; done`;

/** Each looks like a zombie, and sleeps on: forty fill the sandbox's limit of processes. */
const headless = `import ctypes, os, platform, threading, time
for _ in range(60):
  if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(600,)).start()
    ctypes.CDLL(None).syscall(93 if platform.machine() == "aarch64" else 60, 0)`;

/**
 * A thread of the lowest priority forks, and the process's memory cannot be read meanwhile; another writes from it and holds the lock of
 * the pipe as long. Loops keep the first from its end.
 */
const lockHolder = `import mmap, os, threading
def fork():
  os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
  while True:
    child = os.fork()
    if child == 0: os._exit(0)
    os.waitpid(child, 0)
touched = bytearray(b"x" * 30_000_000)
untouched = mmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | 0x4000)
for _ in range(40):
  if os.fork() == 0:
    while True: pass
threading.Thread(target=fork, daemon=True).start()
for at in range(0, 1 << 36, 65536):
  os.writev(1, [memoryview(touched)[:16384], memoryview(untouched)[at:at + 32768]])`;

const attacks: Readonly<Record<string, string>> = {
  'hold the lock of its stdout': `cat > l.py <<'END'\n${lockHolder}\nEND\npython3 l.py`,
  'hold the lock of its stdout, in the background': `cat > l.py <<'END'\n${lockHolder}\nEND\npython3 l.py & sleep 3; echo left`,
  'flood its stdout after the call': '(sleep 1; exec yes) & echo begun',
  'keep its pipes open in forty processes': 'for n in $(seq 40); do (sleep 600; echo) & done; echo kept',
  'fill the processes with such whose first thread has ended': `cat > h.py <<'END'\n${headless}\nEND\npython3 h.py > /dev/null 2>&1 & sleep 2; echo filled`,
  'fill the processes': 'for n in $(seq 80); do sleep 600 & done > /dev/null 2>&1; echo filled',
  'fork without end': quietly('bomb() { bomb | bomb & }; bomb'),
  'print what is no text':
    'head -c 300000 /dev/urandom; printf "\\377\\376\\000\\355\\240\\200"; head -c 100000 /dev/zero',
  'close what it was given': 'exec 0<&- 1>&- 2>&-; sleep 1; exec 1>/proc/self/fd/7',
  'keep its output open': '(sleep 3; while echo more; do sleep 0.1; done) & echo begun',
  'remove its own folder':
    'rm -rf /workspace /tmp/* /workspace/.[a-z]*; mv /workspace /tmp; chmod 000 /workspace; echo gone',

  'kill everything': 'kill -9 -1; echo tried',
  'kill everything for ever': quietly(`trap "" TERM HUP INT; ${loop('kill -TERM -1; kill -HUP 1')}`),
  'stop everything, in a storm': quietly(loop('kill -STOP 1 2 3 4 5 6 7 8; kill -CONT -1')),
  'stop everything, without end': `(perl -MPOSIX -e 'fork and exit; POSIX::setsid(); sleep 1; kill "STOP", -1 while 1') > /dev/null 2>&1; echo left`,
  'trace and read the daemon':
    'for at in /proc/[0-9]*; do head -c 1 $at/mem $at/environ; ls $at/fd; done 2>&1 | tail -n 3',
  'fill the disk': 'cat /dev/zero > /tmp/full; cat /dev/zero > full; echo full',
  'fill shared memory': 'cat /dev/zero > /dev/shm/full; echo full',
  'use up the file system’s entries':
    'n=0; while [ $n -lt 20000 ] && : > f$n; do n=$((n+1)); done; echo made',
  'spin in the background': `for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (${loop(':')}) & done > /dev/null 2>&1; echo left`,
  'hold what can be held':
    'for n in 1 2 3 4 5 6 7 8 9 10; do tail -f /dev/null /etc/* & done > /dev/null 2>&1; echo held',
  'lower every limit': 'ulimit -n 5; ulimit -f 0; ulimit -v 50000; sleep 600 > /dev/null 2>&1 & echo low',
  'leave its session':
    'setsid sh -c "trap \\"\\" TERM; while :; do sleep 1; done" > /dev/null 2>&1 & echo left',
  'take all memory in the background': quietly('sleep 1; tail /dev/zero'),
};

// Each sandbox gets half a processor and most of each test is waiting: several at once.
test.concurrent.each(Object.keys(attacks))(
  '%s: 200, a later call is answered 200, and the grade is a score',
  async (name) => {
    const trace = name.replaceAll(/[^a-z]+/g, '-');
    const say = (call: string, command: string) => corral.rft.call({ trace, call, command });
    expect(await say('c1', attacks[name] ?? '')).toMatchObject({ status: 200 });
    expect(await say('c2', 'sleep 1; echo later')).toMatchObject({ status: 200 });
    await expectScored(trace, 'shell', [0.25, 0]);
  },
);

/** Those that could keep who answers queries from starting, from answering, or from being believed. */
const attacksOnQueries = [
  'fill the processes',
  'kill everything for ever',
  'stop everything, in a storm',
  'spin in the background',
  'fill the disk',
  'lower every limit',
  'take all memory in the background',
] as const;

test.concurrent.each(attacksOnQueries)(
  '%s, and search before and after: 200, whatever becomes of the searches, and the grade is a score',
  async (name) => {
    const trace = `searching-${name.replaceAll(/[^a-z]+/g, '-')}`;
    const environment = 'searching';
    const search = (call: string) =>
      corral.rft.call({ trace, call, tool: 'search', arguments: { words: 'revenue' }, environment });
    const found = { status: 200, body: { output: 'net revenue rose\n' } };
    expect(await search('s1')).toMatchObject(found);
    expect(
      await corral.rft.call({ trace, call: 'c1', command: attacks[name] ?? '', environment }),
    ).toMatchObject({
      status: 200,
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const after = await Promise.all(['s2', 's3', 's4', 's5'].map(search));
    for (const answer of after) expect(answer).toMatchObject({ status: 200 });
    if (name !== 'take all memory in the background') expect(after).toMatchObject(after.map(() => found));
    await expectScored(trace, environment, [0.25, 0]);
  },
);

test('calls that the platform answers without us, malformed or of tools that are not there: a score', async () => {
  const output_tools = [
    { id: 'm1', type: 'function', function: { name: 'shell', arguments: '{"command": ' } },
    { id: 'm2', type: 'function', function: { name: 'no_such_tool', arguments: '{}' } },
  ];
  const sample = { output_text: 'no', output_tools };
  expect(await corral.rft.grade({ trace: 'malformed', sample })).toMatchObject({
    status: 200,
    body: { score: 0.25 },
  });
});

// These wait, too, and do not use up a processor meanwhile. The longest is the first.
test.concurrent('make so many calls at once that they wait for one another beyond all time: told so, 200, and a score', async () => {
  const sleeping = { trace: 'crowd', command: 'sleep 6', environment: 'crowded' };
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, index) => corral.rft.call({ ...sleeping, call: `c${index}` })),
  );
  const told = answers.filter(({ body }) => JSON.stringify(body).includes('too many calls at once'));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(told).toHaveLength(120 - 48);
  await expectScored('crowd', 'crowded', [0.25]);
});

test.concurrent('hold all the memory but what starts nothing: no search ends a rollout as ours', async () => {
  const [trace, environment] = ['searching-full', 'searching'];
  const hold = quietly(loop('head -c 90M /dev/zero | tail'));
  expect(
    await corral.rft.call({ trace, call: 'c1', command: `${hold}; ${hold}; ${hold}`, environment }),
  ).toMatchObject({ status: 200 });
  for (const call of ['s1', 's2', 's3', 's4', 's5', 's6']) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(
      await corral.rft.call({ trace, call, tool: 'search', arguments: { words: 'revenue' }, environment }),
    ).toMatchObject({ status: 200 });
  }
  await expectScored(trace, environment, [0.25, 0]);
});

test.concurrent('fill the memory after the call has ended, and take the sandbox down with it: broken, 200, and on_broken', async () => {
  const hog = `sleep 1; echo 0 > /proc/self/oom_score_adj; ${loop('head -c 100M /dev/zero >> /dev/shm/full; head -c 200M /dev/zero | tail')}`;
  const hogs = `for n in 1 2 3; do ${quietly(hog)}; done`;
  expect(await corral.rft.call({ trace: 'hog', call: 'c1', command: hogs })).toMatchObject({ status: 200 });
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(await corral.rft.call({ trace: 'hog', call: 'c2', command: 'echo later' })).toMatchObject({
    status: 200,
  });
  await expectScored('hog', 'shell', [0.25, 0]);
});

test.concurrent.each(['KILL', 'TERM'])(
  'end the daemon by SIG%s from the background, where commands are root: 200 and on_broken',
  async (signal) => {
    const trace = `root-${signal}`;
    const call = (id: string, command: string) =>
      corral.rft.call({ trace, call: id, command, environment: 'rooted' });
    expect(await call('c1', quietly(`sleep 1; kill -${signal} -1`))).toMatchObject({ status: 200 });
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(await call('c2', 'echo later')).toMatchObject({ status: 200 });
    await expectScored(trace, 'rooted', [0.25, 0]);
  },
);

test.concurrent('end the daemon as a crash would, where commands are root: a discard, as of a machine that fails, and marked', async ({
  expect: expectHere,
}) => {
  const asked = {
    trace: crashed,
    call: 'c1',
    command: quietly('sleep 1; kill -SEGV -1'),
    environment: 'rooted',
  };
  expect(await corral.rft.call(asked)).toMatchObject({ status: 200 });
  const verdict = { kind: 'discard', code: 'sandbox_lost', suspected: 'command' };
  await expectHere.poll(() => viewOf(crashed)).toMatchObject({ verdict });
});

test.concurrent.each(['NaN', 'Infinity', '1e999', 'splendid', '', '0x1p4', '1\\n1'])(
  'lead the grader to a score of %j: on_exit, marked, and no discard',
  async (said) => {
    const trace = `led_${Buffer.from(said).toString('hex')}`;
    const command = `printf '%b' '${said}' > said`;
    expect(await corral.rft.call({ trace, call: 'c1', command, environment: 'led' })).toMatchObject({
      status: 200,
    });
    await expectScored(trace, 'led', [0]);
  },
);

test.concurrent.each(Object.keys(refusals))(
  'answer so that the judge refuses it (%s): on_refused, 200',
  async (words) => {
    const trace = `judge-${Object.keys(refusals).indexOf(words)}`;
    const answer = { trace, environment: 'judged', sample: { output_text: words } };
    expect(await corral.rft.grade(answer)).toMatchObject({ status: 200, body: { score: 0 } });
    expect(await viewOf(trace)).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
  },
);

test.concurrent.each([
  ['a program that no list has', `mawk -- 'BEGIN{exit 75}'`],
  ['a script on stdin', 'echo exit 75 | sh -s'],
])('end a tool with the exit code of a failed backend, by %s: 200, and a score', async (how, command) => {
  const trace = `backend ${how}`.replaceAll(' ', '-');
  const look = { trace, tool: 'look', arguments: { command }, environment: 'looking' };
  expect(await corral.rft.call({ ...look, call: 'c1' })).toMatchObject({ status: 200 });
  const sample = { output_text: 'no' };
  expect(await corral.rft.grade({ trace, environment: 'looking', sample })).toMatchObject({
    status: 200,
    body: { score: 0 },
  });
});

test.concurrent('queue calls at the end of its time, so that they outlast its sandbox: those that have not begun by then do not run', async () => {
  const sleeping = { trace: 'hurry', command: 'sleep 3; echo woke', environment: 'hurried' };
  const answers = await Promise.all(
    Array.from({ length: 48 }, (_, index) => corral.rft.call({ ...sleeping, call: `c${index}` })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const saying = (words: string) => answers.filter(({ body }) => JSON.stringify(body).includes(words)).length;
  const late = saying('for this task are over');
  expect(late).toBeGreaterThan(0);
  expect(saying('woke') + late).toBe(48);
  await expectScored('hurry', 'hurried', [0.25]);
});

test('in the end nothing else of all this was discarded', async () => {
  const discards = await corral.native.get('/v1/runs/development/rollouts?verdict=discard');
  expect(discards.body).toMatchObject({ rollouts: [{ rollout_id: crashed }], cursor: null });
});
