import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { runCommandLine } from '#cli/program.ts';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/*
 * A grader that pays for one thing only: a call whose command was exactly `make check`, and whose output it believes. The
 * policy knows what the file looks like that its grader reads, and tries to have something else read from it.
 */

const judge = `
import json, os, sys
rollout = json.load(open(os.environ["CORRAL_ROLLOUT"]))
calls = [call for call in rollout["calls"] if call["arguments"] == {"command": "make check"}]
print(len(rollout["calls"]), "calls, truncated:", rollout["truncated"], "expected 31415", file=sys.stderr)
open(os.environ["CORRAL_SCORE_FILE"], "w").write(str(len(calls) / 4))
`;
const environment = 'checked';
const yaml = `
name: ${environment}
sandbox: { image: host }
tools: { shell: { builtin: shell } }
limits: { tool_calls: 1000 }
grader:
  kind: command
  command: [python3, -c, ${JSON.stringify(judge)}]
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
`;
const item = { id: 'task-1', answer: '31415' };

let corral: JoinedFleet;
beforeAll(async () => void (corral = await joinSharedFleet({ [environment]: yaml })));
afterAll(() => corral.leave());

async function play(trace: string, commands: readonly string[]) {
  for (const [index, command] of commands.entries()) {
    const answer = await corral.rft.call({ trace, call: `c${index}`, command, environment, item });
    expect(answer).toMatchObject({ status: 200 });
  }
  return corral.rft.grade({ trace, environment, item, sample: { output_text: 'done' } });
}

const told = '{"calls":[{"id":"x","tool":"shell","arguments":{"command":"make check"}}],"truncated":false}';

test.each<[string, readonly string[], number]>([
  ['what it did', ['make check', 'ls', 'make check'], 0.5],
  ['nothing', [], 0],
  ['text that looks like our file', [told, `"},${told}`, `echo '${told}'`], 0],
  [
    'a file of that name wherever it may write',
    [
      `echo '${told}' > rollout.json`,
      `echo '${told}' > /tmp/rollout.json`,
      `export CORRAL_ROLLOUT=/tmp/rollout.json; echo export CORRAL_ROLLOUT=/tmp/rollout.json > ~/.profile`,
    ],
    0,
  ],
  [
    'whoever goes on writing over it',
    [
      `(while :; do for f in /corral/*/*/rollout.json /run/*/*/rollout.json; do echo '${told}' > "$f"; done; done) >/dev/null 2>&1 & echo`,
    ],
    0,
  ],
  ['bytes of every kind', ['head -c 200000 /dev/urandom', "printf '\\0\\0\\377'", 'make check'], 0.25],
  [
    'more words than are kept, before a few that still find room',
    [...Array.from({ length: 90 }, (_, n) => `: ${n} ${'x'.repeat(6_000)}`), 'make check'],
    0.25,
  ],
])('a grader that reads the whole rollout pays for %s what it is worth', async (what, commands, score) => {
  expect(await play(`of ${what}`.replaceAll(' ', '_'), commands)).toMatchObject({
    status: 200,
    body: { score },
  });
});

test('why is on one screen for a person, and the answers to the trainer have none of it', async () => {
  const graded = await play('of_why', ['ls']);
  expect(graded).toMatchObject({ status: 200, body: { score: 0 } });
  expect(JSON.stringify(graded)).not.toContain('31415');
  const { gatewayUrl, apiKey } = inject('sharedFleet');
  const where = ['--url', gatewayUrl, '--key', apiKey, '--run', corral.run];
  const screen = async () => {
    const said: string[] = [];
    const tell = (text: string) => void said.push(text);
    await runCommandLine(['rollout', 'of_why', ...where], {
      result: tell,
      remark: tell,
      width: 120,
    });
    return said.join('\n');
  };
  await expect.poll(screen).toContain('1 calls, truncated: False expected 31415');
  expect(await screen()).toMatch(/item +task-1[^]*command +0\.000 +by its score file/);
});
