import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Item } from '#src/model/grader.ts';
import { CallAnswer } from '#src/protocol/native/calls.ts';
import type { HttpClient } from '#cli/gateway/http-client.ts';
import { askNative } from '#cli/gateway/native-client.ts';
import { type Check, tryOut } from '../check.ts';
import { findWritableArgv, walkMs, type Writable } from './find-writable.ts';

export type WritableUnderTest = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly item: Item;
  readonly rolloutId: string;
};

const Found = Type.Object({
  uid: Type.Number(),
  folders: Type.Array(Type.String()),
  onPath: Type.Array(Type.String()),
  cutOff: Type.Boolean(),
});

/** A cold start with its pull, and the walk. */
const waitS = 120 + walkMs / 1000;

/**
 * What the policy can write beside its workspace. A program or module there is the policy's, as what is in the workspace
 * is: a grader that runs or reads it runs what the policy wrote, as the one whose score counts.
 */
export function checkWritable(under: WritableUnderTest): Promise<Check> {
  return tryOut(under.environment, 'what the policy can write', async () => judgeWritable(await look(under)));
}

async function look({ client, environment, item, rolloutId }: WritableUnderTest): Promise<Writable> {
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  const send = { method: 'POST', deadlineMs: (waitS + 30) * 1000 } as const;
  try {
    const opening = { rollout_id: rolloutId, environment, item };
    await askNative(client, { ...send, path: '/v1/rollouts', body: opening }, Type.Object({}));
    const body = { call_id: 'writable', argv: findWritableArgv(), timeout_s: walkMs / 1000 + 30 };
    return read(await askNative(client, { ...send, path: `${path}/exec?wait_s=${waitS}`, body }, CallAnswer));
  } finally {
    await client.send({ method: 'DELETE', path }).catch(() => undefined);
  }
}

function read({ outcome, exit_code, stdout, stderr }: CallAnswer): Writable {
  const told: unknown = exit_code === 0 ? JSON.parse(stdout) : null;
  if (Value.Check(Found, told)) return told;
  const [line = ''] = stderr.trim().split('\n');
  throw new Error(`the probe did not run in the sandbox: ${outcome}, exit code ${exit_code}: ${line}`);
}

/** Where commands run as root there is nothing that they cannot write; that is what the environment asked for. */
export function judgeWritable({ uid, folders, onPath, cutOff }: Writable): Pick<Check, 'ok' | 'detail'> {
  const nothing = 'a grader must not run or read anything there';
  if (uid === 0)
    return { ok: true, detail: `everything: commands run as root, and what a grader runs is theirs` };
  if (onPath.length > 0) {
    const detail = `programs on PATH: ${onPath.join(' ')}; ${nothing}, and it does by every program that it names without a folder: let another user own them in the image`;
    return { ok: false, detail };
  }
  const rest = cutOff ? ' and more' : '';
  if (folders.length === 0 && !cutOff)
    return { ok: true, detail: 'its workspace and temporary folders only' };
  return { ok: true, detail: `beside its own: ${folders.join(' ')}${rest}; ${nothing}` };
}
