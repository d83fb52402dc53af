import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Item } from '#src/model/grader.ts';
import { CallAnswer } from '#src/protocol/native/calls.ts';
import { foundNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { askNative, type HttpClient } from '../gateway/http-client.ts';

/** A sandbox of its own in which a probe runs as the policy's user. */
export type ProbedSandbox = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly item: Item;
  readonly rolloutId: string;
};

/** Node's heap of a probe. */
const nodeFlags = ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=1'];
/** A cold start with its pull. */
const startS = 120;

/** A script for sandboxd's own Node, because an image may have few programs. It prints its answer as JSON. */
export const probeArgv = (script: string): readonly string[] => [
  ...foundNodeArgv(),
  ...nodeFlags,
  '--eval',
  script,
];

/** Runs the probe, and returns what it printed. Rejects if it did not run, or printed something else. */
export async function probeSandbox<Schema extends TSchema>(
  { client, environment, item, rolloutId }: ProbedSandbox,
  argv: readonly string[],
  timeoutS: number,
  schema: Schema,
): Promise<Type.Static<Schema>> {
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  const waitS = startS + timeoutS;
  const send = { method: 'POST', deadlineMs: (waitS + 30) * 1000 } as const;
  try {
    const opening = { rollout_id: rolloutId, environment, item };
    await askNative(client, { ...send, path: '/v1/rollouts', body: opening }, Type.Object({}));
    const body = { call_id: 'probe', argv, timeout_s: timeoutS };
    const answer = await askNative(
      client,
      { ...send, path: `${path}/exec?wait_s=${waitS}`, body },
      CallAnswer,
    );
    return read(answer, schema);
  } finally {
    await client.send({ method: 'DELETE', path }).catch(() => undefined);
  }
}

function read<Schema extends TSchema>(
  { outcome, exit_code, stdout, stderr }: CallAnswer,
  schema: Schema,
): Type.Static<Schema> {
  const printed: unknown = exit_code === 0 ? JSON.parse(stdout) : null;
  if (Value.Check(schema, printed)) return printed;
  const [line = ''] = stderr.trim().split('\n');
  throw new Error(`the probe did not run in the sandbox: ${outcome}, exit code ${exit_code}: ${line}`);
}
