import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { CommandGrade, Leaf } from '#src/grading/graders/evaluation.ts';
import { scoreIn } from '#src/grading/run-command-grader.ts';
import type { Amounts } from '#src/model/amounts.ts';
import type { Item } from '#src/model/grader.ts';
import { CallAnswer } from '#src/protocol/native/calls.ts';
import { requireAmounts } from '#src/protocol/native/requirements.ts';
import { CommandError } from '../command-error.ts';
import { askNative, heldS, type HttpClient } from '../gateway/http-client.ts';

/** What a program that grades is given, and where: a sandbox of the fleet that no policy was in. */
export type GradedElsewhere = {
  readonly client: HttpClient;
  readonly rolloutId: string;
  readonly environment: string;
  readonly item: Item | null;
  /** JSON. */
  readonly rollout: string;
  /** What its task demanded of its sandbox; absent: what its environment has is enough. */
  readonly amounts?: Amounts | undefined;
};

/** A folder with no other files, in a sandbox without other users. */
const folder = '/tmp/corral-regrade';

/**
 * Runs a command grader over `$CORRAL_ROLLOUT` alone. It runs as the sandbox's only user, because no policy is in there to hide the
 * grader from. Throws if the fleet fails, because that is not a score.
 */
export async function gradeInSandbox(where: GradedElsewhere, leaf: Leaf<'command'>): Promise<CommandGrade> {
  const { client, rolloutId, environment, item, rollout, amounts } = where;
  const opening = {
    rollout_id: rolloutId,
    environment,
    ...(item !== null && { item }),
    ...(amounts !== undefined && { requires: requireAmounts(amounts) }),
  };
  const send = { method: 'POST', deadlineMs: 600_000 } as const;
  await askNative(client, { ...send, path: '/v1/rollouts', body: opening }, Type.Object({}));
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  try {
    await exec(client, path, 'folders', ['mkdir', '-p', ...folders], 60);
    const files = [
      [`${folder}/item.json`, JSON.stringify(item)] as const,
      [`${folder}/rollout.json`, rollout] as const,
      ...Object.entries(leaf.files).map(([name, text]) => [`${folder}/grader/${name}`, text] as const),
    ];
    for (const [file, text] of files) await put(client, `${path}/files/${file}`, text);
    const ran = await exec(client, path, 'grader', argvOf(leaf), Math.ceil(leaf.timeoutMs / 1000));
    return await gradeOf(ran, leaf, () => exec(client, path, 'score', ['cat', `${folder}/score`], 60));
  } finally {
    await client.send({ method: 'POST', path: `${path}/finish` });
  }
}

const folders = ['grader', 'home', 'tmp'].map((name) => `${folder}/${name}`);

const argvOf = ({ argv }: Leaf<'command'>): readonly string[] => [
  'sh',
  '-c',
  `cd ${folder}/home && exec "$@" < ${folder}/item.json`,
  'sh',
  'env',
  `HOME=${folder}/home`,
  `TMPDIR=${folder}/tmp`,
  `CORRAL_GRADER_DIR=${folder}/grader`,
  `CORRAL_ROLLOUT=${folder}/rollout.json`,
  `CORRAL_SCORE_FILE=${folder}/score`,
  ...argv,
];

async function gradeOf(
  ran: CallAnswer,
  leaf: Leaf<'command'>,
  readScore: () => Promise<CallAnswer>,
): Promise<CommandGrade> {
  const said = ran.stderr.slice(-500);
  if (ran.timed_out) return { kind: 'bad', how: 'timeout', reason: `no end after ${leaf.timeoutMs} ms` };
  if (ran.oom_killed) return { kind: 'bad', how: 'out_of_memory', reason: 'out of memory' };
  if (ran.exit_code !== 0)
    return { kind: 'bad', how: 'exit', reason: `exit code ${ran.exit_code}: ${said}`.trim() };
  const text = await readScore();
  const score = text.exit_code === 0 ? scoreIn(text.stdout) : null;
  if (score !== null) return { kind: 'scored', score };
  return { kind: 'bad', how: 'exit', reason: 'it ended well, and its score file holds no finite number' };
}

/** Runs Corral's own command in a rollout's sandbox. */
export async function exec(
  client: HttpClient,
  path: string,
  callId: string,
  argv: readonly string[],
  timeoutS: number,
  stdin?: string,
): Promise<CallAnswer> {
  const deadlineMs = (heldS + 100) * 1000;
  const body = { call_id: callId, argv, timeout_s: timeoutS, ...(stdin !== undefined && { stdin }) };
  let answer = await client.send({ method: 'POST', path: `${path}/exec?wait_s=${heldS}`, body, deadlineMs });
  while (answer.status === 202)
    answer = await client.send({
      method: 'GET',
      path: `${path}/calls/${callId}?wait_s=${heldS}`,
      deadlineMs,
    });
  const told: unknown = parsed(answer.body);
  if (answer.status === 200 && Value.Check(CallAnswer, told)) return told;
  throw new CommandError(
    `the fleet answered ${answer.status}: ${answer.body.slice(0, 200)}`,
    'the fleet',
    'try again',
  );
}

/** Bytes to an address of a rollout's. */
export async function put(client: HttpClient, path: string, content: string | Buffer): Promise<void> {
  const body = typeof content === 'string' ? Buffer.from(content) : content;
  const answer = await client.send({ method: 'PUT', path, body, deadlineMs: 600_000 });
  if (answer.status < 300) return;
  throw new CommandError(
    `the fleet answered ${answer.status}: ${answer.body.slice(0, 200)}`,
    'the fleet',
    'try again',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
