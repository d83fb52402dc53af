import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { callId } from '#src/model/ids.ts';
import type { CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  aGrade,
  aShellCall,
  graderUid,
  policyUid,
  startSandboxd,
  startSandboxdInBwrap,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
const score = (text: string) => ({ kind: 'ran', score: text }) as const;

let payloads: string;
beforeAll(async () => void (payloads = await mkdtemp(join(tmpdir(), 'corral-payloads-'))));
afterAll(() => rm(payloads, { recursive: true, force: true }));

describe.each([
  ['a pid namespace of its own', () => startSandboxdInBwrap(payloads)],
  ['a pid namespace that others are in too', () => startSandboxd()],
] as const)('a grade in a sandbox with %s', (_where, start) => {
  let sandboxd: TestSandboxd;
  let calls = 0;
  beforeEach(async () => {
    sandboxd = await start();
    await sandboxd.link.bind(sandboxd.target, aBind(), signal);
  });
  afterEach(() => sandboxd.stop());

  async function ask(request: CallRequest): Promise<CallAnswer> {
    const call = callId(`call-${(calls += 1)}`);
    const answer = await sandboxd.link.call(sandboxd.target, call, request, 60_000, signal);
    if (answer === 'running') throw new Error('it still runs');
    return answer;
  }
  const sh = (command: string) => ask(aShellCall(command));
  const grade = (command: string, options?: Parameters<typeof aGrade>[1]) => ask(aGrade(command, options));

  it('runs as its own user and group, among its own files, with the item on stdin and none of the workspace open', async () => {
    await sh('echo 42 > answer');
    const script =
      'id -u; id -G; cat; cat "$CORRAL_GRADER_DIR/truth"; cat "$CORRAL_WORKSPACE/answer" 2>&1; echo 0.5 > "$CORRAL_SCORE_FILE"';
    const { grade: turn, stdout } = await grade(script, {
      files: { truth: 'of the grader\n' },
      stdin: 'item\n',
    });
    expect(turn).toEqual(score('0.5\n'));
    expect(stdout.head).toContain(`${graderUid}\n${graderUid}\nitem\nof the grader\n`);
    expect(stdout.head).toContain('ermission denied');
  });

  it('finds the rollout in a file of its own that nobody else may read, and that is gone when the turn is over', async () => {
    await sh('echo \'{"calls":[]}\' > rollout.json; ln -s "$PWD/rollout.json" /tmp/rollout.json');
    const rollout = JSON.stringify({ sample: { output_text: 'é\0\n"' }, calls: [{ id: 'call_1' }] });
    const script = [
      'stat -c "%a %u" "$CORRAL_ROLLOUT"',
      'cat "$CORRAL_ROLLOUT"; echo',
      'as-policy sh -c \'cat "$1" 2>&1 | grep -c enied\' sh "$CORRAL_ROLLOUT"',
      'as-policy sh -c \'echo forged > "$1"; rm -f "$1"; mv rollout.json "$1"\' sh "$CORRAL_ROLLOUT" 2>/dev/null',
      'as-policy sh -c \'echo "of the policy: $CORRAL_ROLLOUT"\'',
      'cmp "$CORRAL_ROLLOUT" - && echo "$CORRAL_ROLLOUT" > "$(dirname "$CORRAL_GRADER_DIR")/tmp/where"',
      'echo 1 > "$CORRAL_SCORE_FILE"',
    ].join('\n');
    const { stdout, grade: turn } = await grade(script, { rollout, stdin: rollout });
    expect(stdout.head).toBe(`600 ${graderUid}\n${rollout}\n1\nof the policy: \n`);
    expect(turn).toEqual({ ...score('1\n'), toldRollout: true });
    const looking =
      'find "$(dirname "$(dirname "$CORRAL_GRADER_DIR")")" -name rollout.json | wc -l; echo "${CORRAL_ROLLOUT-unset}"';
    expect((await grade(looking, { turn: 1 })).stdout.head).toBe('0\nunset\n');
  });

  it('is told a rollout of some megabytes of control characters', async () => {
    const calls = Array.from({ length: 4_000 }, (_, id) => ({ id, output: '\0'.repeat(64) }));
    const rollout = JSON.stringify({ sample: { output_text: '\\"'.repeat(300_000) }, calls });
    const { grade: turn } = await grade('wc -c < "$CORRAL_ROLLOUT" > "$CORRAL_SCORE_FILE"', { rollout });
    expect(turn).toEqual({ ...score(`${Buffer.byteLength(rollout)}\n`), toldRollout: true });
  });

  it('runs the policy’s programs as the policy, which can neither open nor list anything of the grader’s', async () => {
    await sh(
      `printf '#!/bin/sh\\nid -u; id -G; pwd; ls "$1" 2>&1; cat "$1/files/score" 2>&1; cat\\n' > program`,
    );
    const script =
      'cd /; as-policy sh ./program "$(dirname "$CORRAL_GRADER_DIR")"; echo $?; echo 1 > "$CORRAL_SCORE_FILE"';
    const { stdout, grade: turn } = await grade(script, { stdin: 'the answer' });
    expect(turn).toEqual(score('1\n'));
    expect(stdout.head).toMatch(
      new RegExp(`^${policyUid}\n${policyUid}\n.*workspace\n.*denied\n.*denied\n0\n$`),
    );
  });

  it('passes stdin, output, exit code, variables and folder of the policy’s program through', async () => {
    const script = [
      'printf given | as-policy --stdin --env WORD=hi --cwd / sh -c \'cat; echo " $WORD $PWD"; echo bad >&2; exit 7\' 2>err',
      'echo $?; cat err',
      'as-policy sh -c "kill -9 \\$\\$"; echo $?',
      'as-policy no-such-program 2>/dev/null; echo $?',
      'as-policy --timeout 0.3 sh -c "sleep 30"; echo $?',
      'as-policy --output-bytes 10 sh -c yes 2>/dev/null | wc -c',
    ];
    const { stdout } = await grade(script.join('\n'));
    expect(stdout.head).toBe('given hi /\n7\nbad\n137\n125\n124\n10\n');
  });

  it('meets no process of the policy: neither before it, nor between its programs, nor when its score is read', async () => {
    const daemon = 'setsid sh -c "while :; do sleep 1; done" >/dev/null 2>&1 &';
    await sh(`${daemon} ${daemon} echo`);
    // Zombies have run; who reaps them on this machine takes its time.
    const counting = `for p in /proc/[0-9]*; do tr '\\n' ' ' < $p/status 2>/dev/null; echo; done | grep "Uid:.${policyUid}" | grep -vc "State:.Z"`;
    const script = `${counting}; as-policy sh -c '${daemon} echo left'; ${counting}; echo 1 > "$CORRAL_SCORE_FILE"`;
    const { stdout, grade: turn } = await grade(script);
    expect(stdout.head).toBe('0\nleft\n0\n');
    expect(turn).toEqual(score('1\n'));
  });

  it('hears that the grader has given up on a program, which then holds nothing up', async () => {
    const slow = 'timeout 0.5 as-policy sh -c "sleep 50; echo slow"';
    const script = `for n in 1 2 3; do ${slow}; done; sleep 1.5; as-policy sh -c 'echo next'; ls -d /proc/[0-9]* | wc -l`;
    const { stdout, evidence } = await grade(script);
    expect(stdout.head).toMatch(/^next\n/);
    expect(evidence.durationMs).toBeLessThan(20_000);
  });

  it('feeds a program that does not read its stdin, as often as asked and forty at once', async () => {
    const feeding = 'head -c 3000000 /dev/zero | as-policy --stdin sh -c "exit 3"; echo $?';
    const many =
      'for n in $(seq 40); do as-policy sh -c "echo of $n" > $TMPDIR/$n 2>&1 & done; wait; cat $TMPDIR/* | sort | uniq | wc -l; cat $TMPDIR/* | sort | uniq -c | sort -rn | grep -v " 1 of"';
    const { stdout } = await grade(`for n in 1 2 3; do ${feeding}; done; ${many}`, { timeoutMs: 55_000 });
    expect(stdout.head).toBe('3\n3\n3\n40\n');
  });

  it('takes no file of the grader’s own for its score', async () => {
    const { grade: turn } = await grade('true', { files: { score: '1' } });
    expect(turn).toEqual({ kind: 'ran', score: null });
  });

  it('gives the next turn a place of its own, with nothing of the one before', async () => {
    await grade('echo 1 > "$CORRAL_SCORE_FILE"; echo left > ~/left; sleep 100 & echo left > $TMPDIR/left');
    const second = await grade('ls -A ~ $TMPDIR "$CORRAL_GRADER_DIR" | grep -c left', { turn: 2 });
    expect(second).toMatchObject({ stdout: { head: '0\n' }, grade: { kind: 'ran', score: null } });
  });

  it('is the end of the rollout: no call and no file is taken after it, and an earlier turn that comes late is not run', async () => {
    await grade('echo 1 > "$CORRAL_SCORE_FILE"', { turn: 2 });
    const graded = { trouble: { kind: 'refused', status: 409, code: 'graded' } };
    await expect(sh('echo late')).rejects.toMatchObject(graded);
    const bytes = new Blob(['late']).stream();
    await expect(
      sandboxd.link.putFile(sandboxd.target, { path: 'late', user: 'policy', form: 'file' }, bytes, signal),
    ).rejects.toMatchObject(graded);
    expect(await grade('echo 2 > "$CORRAL_SCORE_FILE"')).toMatchObject({ ending: { kind: 'cancelled' } });
  });

  it('ends an earlier turn that still runs when a later one comes', async () => {
    const first = ask(aGrade('echo 1 > "$CORRAL_SCORE_FILE"; sleep 100'));
    await expect
      .poll(async () => (await sandboxd.link.identity(sandboxd.target, signal)).calls)
      .toContainEqual(expect.objectContaining({ state: 'running' }));
    expect(await grade('echo 2 > "$CORRAL_SCORE_FILE"', { turn: 2 })).toMatchObject({ grade: score('2\n') });
    expect(await first).toMatchObject({ ending: { kind: 'cancelled' } });
  });

  it.each([
    ['a link to another file', 'ln -s /etc/hostname "$CORRAL_SCORE_FILE"', null],
    ['a folder', 'mkdir "$CORRAL_SCORE_FILE"', null],
    ['a pipe that nobody writes to', 'mkfifo "$CORRAL_SCORE_FILE"', null],
    [
      'more than a number can have',
      'head -c 100000 /dev/zero | tr "\\0" 1 > "$CORRAL_SCORE_FILE"',
      '1'.repeat(257),
    ],
  ])('whose score file is %s gives no number', async (_what, script, text) => {
    expect((await grade(script)).grade).toEqual({ kind: 'ran', score: text });
  });
});

// In a namespace that it could fill without harm, by a sandboxd that does not know that it is alone there.
it('a grade outruns processes that fork and end faster than anybody can look, before it and between its programs', async () => {
  const env = { CORRAL_PID_NAMESPACE: 'shared' };
  const sandboxd = await startSandboxdInBwrap(payloads, { env, programs: true });
  try {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const setsid = process.arch === 'arm64' ? 157 : 112;
    const chain = `/usr/bin/perl -e "while (1) { exit 0 if fork; syscall(${setsid}) }" >/dev/null 2>&1 &`;
    const left = `echo '${chain}' > chain; sh ./chain; sh ./chain`;
    await link.call(target, callId('c1'), aShellCall(left), 10_000, signal);
    // A process of the chain is seen by few looks; that its numbers go up is seen by all.
    const newest = 'sh -c "echo \\$\\$"';
    const forks = `a=$(${newest}); sleep 1; b=$(${newest}); echo $((b - a < 10))`;
    const script = `${forks}; as-policy sh ./chain; ${forks}; echo 1 > "$CORRAL_SCORE_FILE"`;
    const answer = await link.call(target, callId('g1'), aGrade(script), 60_000, signal);
    expect(answer).toMatchObject({ stdout: { head: '1\n1\n' }, grade: score('1\n') });
  } finally {
    await sandboxd.stop();
  }
});

const isHelper = (pid: string, name: string): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(name);
  } catch {
    // It has ended since it was listed.
    return false;
  }
};

/** Kills a helper of a grade, as a machine without memory does. */
async function killHelper({ process: { pid } }: TestSandboxd, name: string): Promise<void> {
  const find = () =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .find((child) => isHelper(child, name));
  const helper = await vi.waitUntil(find, { interval: 1, timeout: 20_000 });
  process.kill(Number(helper), 'SIGKILL');
  await vi.waitUntil(() => !isHelper(helper, name), { interval: 1, timeout: 20_000 });
}

it.each(['two-user', 'single-user'] as const)(
  'a grade whose helper is killed without a shortage in its sandbox says so, and not that the policy did it (%s)',
  async (users) => {
    const sandboxd = await startSandboxd({ users });
    try {
      const { link, target } = sandboxd;
      await link.bind(target, aBind(), signal);
      // So many that it is found while it writes them.
      const files = Object.fromEntries(
        Array.from({ length: 20_000 }, (_, number) => [`file-${number}`, 'x']),
      );
      const graded = link.call(target, callId('g1'), aGrade('true', { files }), 30_000, signal);
      await killHelper(sandboxd, 'place-grader');
      expect(await graded).toMatchObject({ grade: { kind: 'folder_failed', errno: 'LOST' } });
    } finally {
      await sandboxd.stop();
    }
  },
);

describe.each(['single-user', 'root'] as const)('a grade where all have one id (%s)', (users) => {
  it('is given as elsewhere, after all that the policy left running is dead, though nothing is kept from it', async () => {
    const sandboxd = await startSandboxd({ users });
    try {
      const { link, target } = sandboxd;
      const left = `leep-of-${process.pid}`;
      await link.bind(target, aBind(), signal);
      const leaves = `cp /bin/sleep s${left}; ./s${left} 1000 >/dev/null 2>&1 & sleep 0.2; echo 'echo 42' > program`;
      await link.call(target, callId('c1'), aShellCall(leaves), 10_000, signal);
      const script = `ps -eo stat,args | grep '[s]${left} 1000' | grep -vc '^Z'; as-policy sh ./program; echo 0.5 > "$CORRAL_SCORE_FILE"`;
      const answer = await link.call(target, callId('g1'), aGrade(script), 30_000, signal);
      expect(answer).toMatchObject({ stdout: { head: '0\n42\n' }, grade: score('0.5\n') });
    } finally {
      await sandboxd.stop();
    }
  });
});

it('a score that could not be read for want of memory is read again, and its grader runs once', async () => {
  const sandboxd = await startSandboxd();
  try {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const script = 'echo ran; echo 0.5 > "$CORRAL_SCORE_FILE"';
    const graded = link.call(target, callId('g1'), aGrade(script), 30_000, signal);
    await killHelper(sandboxd, 'read-score');
    expect(await graded).toMatchObject({ grade: score('0.5\n'), stdout: { head: 'ran\n' } });
  } finally {
    await sandboxd.stop();
  }
});

it('a score that twice could not be read for want of memory is reported so', async () => {
  const account = join(payloads, 'memory.events');
  writeFileSync(account, 'oom 0\noom_kill 0\n');
  const sandboxd = await startSandboxd({ env: { CORRAL_CGROUP_EVENTS: account } });
  try {
    const { link, target } = sandboxd;
    await link.bind(target, aBind(), signal);
    const graded = link.call(target, callId('g1'), aGrade('true'), 30_000, signal);
    await killHelper(sandboxd, 'read-score');
    writeFileSync(account, 'oom 1\noom_kill 1\n');
    await killHelper(sandboxd, 'read-score');
    expect(await graded).toMatchObject({ grade: { kind: 'folder_failed', errno: 'SIGKILL' } });
  } finally {
    await sandboxd.stop();
  }
});
