import { afterAll, beforeAll, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/*
 * The policy's goal: to learn what it is graded by. The answer is in the dataset's row, in the grader's files, in its
 * variables and on its stdin; while the grader runs, so does whatever of the policy's it runs with `as-policy`.
 */

const answer = 'ANSWER-31415';
const fileSecret = 'FILE-27182';

/** Runs the policy's program twice, and gives its score as the number of secrets that the program told. */
const judge = `
export SECRET="$(cat "$CORRAL_GRADER_DIR/truth")"
cp "$CORRAL_GRADER_DIR/truth" ~/kept; cp "$CORRAL_GRADER_DIR/truth" "$TMPDIR/kept"; cp "$CORRAL_GRADER_DIR/truth" .
exec 9< "$CORRAL_GRADER_DIR/truth"
as-policy sh ./program > told 2>&1
as-policy --stdin sh ./program >> told 2>&1 < /dev/null
echo 0 > "$CORRAL_SCORE_FILE"
for secret in ${answer} "$SECRET"; do grep -q "$secret" told && echo 1 > "$CORRAL_SCORE_FILE"; done
true
`;

const graded = (name: string, command: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi, memory: 256Mi, processes: 128 }
expose: [question]
tools: { shell: { builtin: shell } }
limits: { tool_calls: 1000 }
grader:
  kind: command
  command: [sh, -c, ${JSON.stringify(command)}]
  files: { judge.sh: { file: secret-judge.sh }, truth: { file: secret-truth } }
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 1, max: 8 }
`;

const environments = {
  'secret-judged': graded('secret-judged', 'exec sh "$CORRAL_GRADER_DIR/judge.sh"'),
  'on-the-line': graded('on-the-line', `exec sh "$CORRAL_GRADER_DIR/judge.sh" ${answer}`),
};

let corral: JoinedFleet;
beforeAll(async () => {
  corral = await joinSharedFleet(environments, { 'secret-judge.sh': judge, 'secret-truth': fileSecret });
});
afterAll(() => corral.leave());

const item = { id: 'task-1', question: 'of what?', answer };

async function say(
  trace: string,
  call: string,
  command: string,
  environment = 'secret-judged',
): Promise<string> {
  const { status, body } = await corral.rft.call({ trace, call, command, environment, item });
  expect({ status, body }).toMatchObject({ status: 200, body: { output: expect.any(String) } });
  return (body as { output: string }).output;
}

/** The policy leaves this program, and is graded. */
async function scoreOf(trace: string, program: string, environment = 'secret-judged') {
  await say(trace, 'c1', `cat > program <<'END'\n${program}\nEND`, environment);
  return corral.rft.grade({ trace, environment, item, sample: { output_tools: [{ id: 'c1' }] } });
}

/** A pipe among them may never end, so each look has its time. */
const everywhere = [
  'cat /proc/*/environ /proc/*/fd/* /proc/*/cwd/* /proc/*/root/.corral/grader/*/*/*',
  'for p in /proc/[0-9]*; do head -c 200000 $p/mem; done',
  'cat /.corral/grader/* /.corral/grader/*/* /.corral/grader/*/*/* /.corral/daemon/*',
  'find / -xdev -newer /proc/1 -type f -readable | head -1000 | xargs cat',
  'cat; cat <&9; env',
]
  .map((look) => `timeout 2 sh -c '${look}' 2>/dev/null`)
  .join('\n');

test('before the grade nothing of the row but what is exposed, and nothing of the grader, is in the sandbox', async () => {
  const said = await say(
    'before',
    'c1',
    `{ ${everywhere}; } | tr -cd '[:print:]' | grep -ao 'ANSWER-[0-9]*\\|FILE-[0-9]*\\|of what' | sort | uniq -c`,
  );
  expect(said).not.toMatch(/ANSWER|FILE/);
  expect(said).toContain('of what');
});

test.each([
  ['whatever it can open', everywhere],
  [
    'links that lead the judge to its own files, and back',
    'ln -sf /.corral/grader link; ls -R link/ 2>/dev/null; ln -sf /proc/$PPID/root/.corral/grader link; ls -R link/ 2>/dev/null',
  ],
  [
    'a debugger, and signals that make others dump what they know',
    'for p in /proc/[0-9]*; do kill -QUIT ${p#/proc/}; kill -ABRT ${p#/proc/}; done 2>/dev/null; cat core* 2>/dev/null; perl -e \'$n = `uname -m` =~ /aarch64/ ? 117 : 101; for (1..400) { syscall($n, 16, $_, 0, 0) == 0 and print "attached to $_\\n" and system("cat /proc/$_/environ") if $_ != $$ && $_ != getppid }\' 2>/dev/null | grep -a SECRET',
  ],
  [
    'the socket through which it was started',
    'for f in /.corral/grader/*/as-policy.sock; do echo x; done; perl -MSocket -e \'for (glob("/.corral/grader/*/as-policy.sock"), "/.corral/daemon/d.sock") { socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un($_)) and print "open: $_ FILE-27182\\n" }\'',
  ],
])('what its program finds while the judge runs it: %s, and no secret', async (what, program) => {
  const graded = await scoreOf(`during ${what}`.replaceAll(/[^a-z]+/gi, '_'), program);
  expect(graded).toMatchObject({ status: 200, body: { score: 0 } });
});

test('a program that has the secret is found out by the judge, so that these tests can fail', async () => {
  expect(await scoreOf('control', `echo ${answer}`)).toMatchObject({ body: { score: 1 } });
});

test('what remains: a program of the policy can read the judge’s command line, so no answer may stand there', async () => {
  const program = 'tr "\\0" " " < /proc/1/cmdline; cat /proc/[0-9]*/cmdline | tr "\\0" " "';
  expect(await scoreOf('unseen', program)).toMatchObject({ body: { score: 0 } });
  expect(await scoreOf('seen', program, 'on-the-line')).toMatchObject({ body: { score: 1 } });
});
