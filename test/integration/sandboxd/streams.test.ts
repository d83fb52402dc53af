import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callId } from '#src/model/ids.ts';
import { payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import type { CallAnswer, CallRequest } from '#src/protocol/sandboxd/wire.ts';
import {
  aBind,
  aGrade,
  aShellCall,
  policyUid,
  startSandboxd,
  type TestSandboxd,
} from '#test/support/sandboxd.ts';

const { signal } = new AbortController();
let sandboxd: TestSandboxd;
let calls = 0;

async function start(users: 'two-user' | 'single-user'): Promise<void> {
  sandboxd = await startSandboxd({ users });
  await sandboxd.link.bind(sandboxd.target, aBind(), signal);
}

async function ask(request: CallRequest): Promise<CallAnswer> {
  const call = callId(`call-${(calls += 1)}`);
  const answer = await sandboxd.link.call(sandboxd.target, call, request, 60_000, signal);
  if (answer === 'running') throw new Error('it still runs');
  return answer;
}

const run = (command: string, options?: Parameters<typeof aShellCall>[1]) =>
  ask(aShellCall(command, options));

/** What a command printed, and how it ended. */
const seen = ({ stdout, stderr, ending }: CallAnswer) => ({
  out: stdout.head,
  err: stderr.head,
  exitCode: ending.kind === 'exited' ? ending.exitCode : ending,
});

describe.each(['two-user', 'single-user'] as const)('streams of a command, %s', (users) => {
  beforeAll(() => start(users));
  afterAll(() => sandboxd.stop());

  it.each([
    ['/dev/stdout', 'echo out > /dev/stdout', 'out\n', ''],
    ['/dev/stderr', 'echo err > /dev/stderr', '', 'err\n'],
    ['/proc/self/fd/1', 'echo number > /proc/self/fd/1', 'number\n', ''],
    ['tee to /dev/stderr', 'echo both | tee /dev/stderr', 'both\n', 'both\n'],
    ['a log that is a link', 'ln -sf /dev/stdout log; echo line >> log', 'line\n', ''],
    ['perl', `perl -e 'open(F, ">", "/dev/stdout") or die; print F "perl\\n"'`, 'perl\n', ''],
    ['tar', 'echo x > f; tar -cf /dev/stdout f | tar -tf -', 'f\n', ''],
    ['test -p', '[ -p /dev/stdout ] && [ -p /dev/stderr ] && echo pipes', 'pipes\n', ''],
  ])('can be opened by name: %s', async (_how, command, out, err) => {
    expect(seen(await run(command))).toEqual({ out, err, exitCode: 0 });
  });

  const doubles = 'n = int(open("/dev/stdin").read()); print(n * 2)';
  it.each([
    ['cat', ['sh', '-c', 'n=$(cat /dev/stdin); echo $((n * 2))']],
    ['Python', ['python3', '-c', doubles]],
    ['Node', ['NODE', '-e', 'console.log(2 * require("fs").readFileSync("/dev/stdin", "utf8"))']],
  ])('can be opened by name: /dev/stdin by %s', async (_who, words) => {
    const node = payloadNodeArgv(join(sandboxd.folder, 'payload'));
    const argv = words.flatMap((word) => (word === 'NODE' ? node : [word]));
    expect(seen(await run('', { argv, stdin: '20\n' }))).toEqual({ out: '40\n', err: '', exitCode: 0 });
  });

  it('read an end at once without input, and all of a large input', async () => {
    expect(seen(await run('cat /dev/stdin; cat; echo "$?"'))).toMatchObject({ out: '0\n' });
    const input = 'x'.repeat(900_000);
    expect(seen(await run('cat | wc -c', { stdin: input }))).toMatchObject({ out: '900000\n' });
    expect(seen(await run('true', { stdin: input }))).toEqual({ out: '', err: '', exitCode: 0 });
  });

  it('stay in the order of writing if they are merged, also one that is opened by name', async () => {
    const lines =
      'for i in 1 2 3; do echo "out $i"; echo "err $i" >&2; done; echo named > /dev/stderr; echo last';
    const merged = await run(lines, { merge: true });
    expect(seen(merged)).toEqual({
      out: 'out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nnamed\nlast\n',
      err: '',
      exitCode: 0,
    });
    expect(seen(await run(lines))).toMatchObject({ err: 'err 1\nerr 2\nerr 3\nnamed\n' });
  });

  it.each([false, true])(
    'say that a program is missing or not executable as a shell does, merge: %s',
    async (merge) => {
      const said = merge ? 'out' : 'err';
      const of = async (argv: readonly string[]) =>
        seen(await run('', { argv, ...(merge && { merge: true }) }));
      expect(await of(['no-such-program'])).toMatchObject({
        exitCode: 127,
        [said]: 'there is no program no-such-program\n',
      });
      expect(await of(['/etc/passwd'])).toMatchObject({
        exitCode: 126,
        [said]: '/etc/passwd may not be executed\n',
      });
    },
  );

  it('carry a flood whole, and what comes after the end of the command is no part of it', async () => {
    const flood = await run('seq 1 200000; echo err >&2');
    expect(flood.stdout.totalBytes).toBe(1_288_895);
    const background = await run('(sleep 1; echo late) & echo now; echo "$!" >&2');
    expect(seen(background)).toMatchObject({ out: 'now\n', exitCode: 0 });
    // It writes without a broken pipe, and that is dropped.
    const left = background.stderr.head.trim();
    expect(
      seen(await run(`while kill -0 ${left} 2>/dev/null; do sleep 0.05; done; echo over`)),
    ).toMatchObject({
      out: 'over\n',
    });
  });
});

describe('a policy and pipes', () => {
  beforeAll(() => start('two-user'));
  afterAll(() => sandboxd.stop());

  it('finds them to be its own, of the usual size, and blocking', async () => {
    const program = `perl -e 'for (1, 2) { print fcntl(eval("*STD" . (qw(OUT ERR))[$_ - 1]), 1032, 0), " ", fcntl(STDOUT, 3, 0) & 2048, "\\n" }'`;
    expect(
      seen(await run(`stat -L -c '%F %u %a' /dev/stdin /dev/stdout /dev/stderr; ${program}`, { stdin: '' }))
        .out,
    ).toBe(`${`fifo ${policyUid} 600\n`.repeat(3)}65536 0\n65536 0\n`);
  });

  it('meets no end of them in sandboxd, which a held lock of a pipe would hold up', async () => {
    const running = run('for n in 0 1 2; do readlink /proc/self/fd/$n; done; touch started; cat', {
      stdin: '',
    });
    const { stdout } = await running;
    const pipes = stdout.head.trim().split('\n');
    expect(pipes.every((each) => /^pipe:\[\d+\]$/.test(each))).toBe(true);
    const held = run('readlink /proc/self/fd/1 > mine; while [ -e mine ]; do sleep 0.05; done');
    const mine = await theText('mine');
    expect(linksOf(sandboxd.process.pid).filter((link) => link === mine)).toEqual([]);
    await run('rm mine');
    await held;
  });

  it('loses no output of commands that end at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const texts = Array.from({ length: 20 }, (_, index) => `text ${round} ${index}\n`);
      const answers = await Promise.all(texts.map((text) => run(`printf '${text.trim()}\\n'`)));
      expect(answers.map(({ stdout }) => stdout.head)).toEqual(texts);
    }
  });

  it('finds no carrier by its name or words, and cannot signal one', async () => {
    // -1 is everything that the shell may signal but the shell.
    expect(seen(await run('sleep 41 & kill -9 -1; echo survived'))).toMatchObject({ out: 'survived\n' });
    // The sleep and the shell itself, whose text has these words.
    const script = 'pgrep -fc "sleep 4[2]"; pkill -9 enter; echo "$?"';
    expect(seen(await run(`sleep 42 & ${script}; kill $!`)).out).toBe('2\n1\n');
  });

  it('steals by reading its own stdout only its own output, and sandboxd answers', async () => {
    const answer = await run(
      'cat /proc/self/fd/1 > stolen 2>/dev/null & sleep 0.2; for i in $(seq 200); do echo "line $i"; done',
    );
    const stolen = await run('wc -l < stolen; pkill cat');
    expect(answer.ending).toEqual({ kind: 'exited', exitCode: 0 });
    const shown = answer.stdout.head.split('\n').length - 1;
    expect(shown + Number(stolen.stdout.head)).toBe(200);
  });

  it('writes into the pipe of another call of its own, which is its own text, and into no other user’s', async () => {
    const victim = run('echo $$ > pid; while [ -e pid ]; do sleep 0.05; done; echo end');
    const pid = (await theText('pid')).trim();
    const others = `for each in /proc/[0-9]*; do [ "$(stat -c %u "$each")" = ${policyUid} ] || for fd in 0 1 2 3 4 5 6 7 8 9; do echo forged 2>/dev/null > "$each/fd/$fd" && echo "wrote to $each"; done; done`;
    const attack = await run(`echo told > /proc/${pid}/fd/1; { ${others}; } 2>/dev/null; rm pid`);
    expect(seen(attack)).toMatchObject({ out: '', exitCode: 0 });
    expect(seen(await victim)).toMatchObject({ out: 'told\nend\n' });
  });

  it('keeps its pipe open and floods it after the call: answered, and nothing else is held up', async () => {
    const kept = await run('(sleep 0.1; exec yes) & sleep 0.3; echo answered >&2');
    expect(kept.ending).toEqual({ kind: 'exited', exitCode: 0 });
    expect(kept.evidence.backgroundProcesses).toBeGreaterThan(0);
    expect(kept.stderr.head).toBe('answered\n');
    expect(seen(await run('echo next; pkill yes'))).toMatchObject({ out: 'next\n' });
  });

  it('enlarges its pipes and uses up what its user may have of them: the next command works', async () => {
    const greedy = String.raw`perl -e '
      my @held; for (1 .. 300) { pipe(my $r, my $w) or last; fcntl($w, 1031, 1048576); push @held, $r, $w }
      fcntl(STDOUT, 1031, 1048576); syswrite STDOUT, "x" x 1000000; print STDERR "held"; open(F, ">", "held"); close F;
      sleep 1 while -e "held"'`;
    const holding = run(greedy, { keepBytes: 100 });
    await theText('held', '');
    const next = await run('cat; seq 1 100000 | tail -n 1; seq 1 20000; rm held', { stdin: 'in\n' });
    expect(next.ending).toEqual({ kind: 'exited', exitCode: 0 });
    expect(next.stdout.head.startsWith('in\n100000\n1\n2\n')).toBe(true);
    expect((await holding).stdout.totalBytes).toBe(1_000_000);
  });

  it('leaves no carrier behind when its commands have ended', async () => {
    await run('pkill -u $(id -u) sleep; true');
    const before = carriers();
    for (let each = 0; each < 5; each += 1) await run('echo x; echo y >&2', { stdin: 'in' });
    await expect.poll(carriers).toBeLessThanOrEqual(before);
  });
});

describe('streams of a grade', () => {
  beforeAll(() => start('two-user'));
  afterAll(() => sandboxd.stop());

  it('can be opened by name by the grader, and by what it runs as the policy', async () => {
    const script = [
      'cat /dev/stdin',
      'echo seen > /dev/stderr',
      "printf '20\\n' | as-policy --stdin sh -c 'n=$(cat /dev/stdin); echo $((n * 2)) > /dev/stdout; echo bad > /dev/stderr' 2> err",
      'cat err; echo 1 > "$CORRAL_SCORE_FILE"',
    ].join('; ');
    const { stdout, stderr, grade } = await ask(aGrade(script, { stdin: 'item\n' }));
    expect([stdout.head, stderr.head]).toEqual(['item\n40\nbad\n', 'seen\n']);
    expect(grade).toEqual({ kind: 'ran', score: '1\n' });
  });

  it('are out of reach for what it runs as the policy: nothing is read or written there', async () => {
    const reach =
      'for each in /proc/[0-9]*; do [ "$(stat -c %u "$each" 2>/dev/null)" = "$(id -u)" ] || for fd in 0 1 2 3 4 5; do { echo forged > "$each/fd/$fd"; } 2>/dev/null && echo "wrote $each"; done; done; echo done';
    const script = `as-policy sh -c '${reach}'; echo 0.25 > "$CORRAL_SCORE_FILE"`;
    const { stdout, stderr, grade } = await ask(aGrade(script, { turn: 2 }));
    expect([stdout.head, stderr.head]).toEqual(['done\n', '']);
    expect(grade).toEqual({ kind: 'ran', score: '0.25\n' });
  });
});

/** A file of the workspace, once it has text. */
async function theText(name: string, pattern: string | RegExp = /\S/): Promise<string> {
  const file = join(sandboxd.workspace, name);
  await expect.poll(() => textOf(file)).toMatch(pattern);
  return readFileSync(file, 'utf8').trim();
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function linksOf(pid: number | undefined): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((each) => {
    try {
      return readlinkSync(join(folder, each));
    } catch {
      return '';
    }
  });
}

/** Processes of `enter` that only carry streams have no words. */
function carriers(): number {
  return readdirSync('/proc').filter(
    (pid) =>
      /^\d+$/.test(pid) &&
      textOf(`/proc/${pid}/comm`) === 'enter\n' &&
      /^\0*$/.test(textOf(`/proc/${pid}/cmdline`) ?? 'x'),
  ).length;
}
