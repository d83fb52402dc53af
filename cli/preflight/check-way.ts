import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Item } from '#src/model/grader.ts';
import { heldS, type HttpAnswer, type HttpClient } from '../gateway/http-client.ts';
import { type Check, tryOut } from './check.ts';

/** Just under the platforms' limit of 1 MB with everything around it. */
const largeBytes = 950_000;

const ExecAnswer = Type.Object({ exit_code: Type.Number(), stdout: Type.String() });

export type WayUnderTest = {
  readonly client: HttpClient;
  readonly environment: string;
  readonly rolloutId: string;
  readonly run: string;
  readonly item: Item;
  /** How long one request is held without a byte; 0 leaves that out. */
  readonly holdS: number;
};

/** What stands between here and the gateway: a proxy that cuts large bodies or long requests is found out. */
export async function checkWay(way: WayUnderTest): Promise<readonly Check[]> {
  const { client, environment, rolloutId, run, item, holdS } = way;
  const path = `/v1/rollouts/${encodeURIComponent(rolloutId)}`;
  await client.send({
    method: 'POST',
    path: '/v1/rollouts',
    run,
    body: { rollout_id: rolloutId, environment, item },
  });
  const exec = (callId: string, body: object, timeoutS: number) =>
    client.send({
      method: 'POST',
      path: `${path}/exec?wait_s=${heldS}`,
      run,
      body: { call_id: callId, timeout_s: timeoutS, ...body },
      deadlineMs: (timeoutS + 30) * 1000,
    });
  const checks = [
    await tryOut(environment, 'a body near 1 MB', async () => {
      const answer = await exec('large', { argv: ['wc', '-c'], stdin: 'x'.repeat(largeBytes) }, 60);
      return judge(
        answer,
        String(largeBytes),
        'arrived whole',
        'raise the body limit of every proxy above 1 MB',
      );
    }),
  ];
  if (holdS > 0) {
    checks.push(
      await tryOut(environment, `a request held for ${holdS} s`, async () => {
        const answer = await exec('held', { argv: ['sh', '-c', `sleep ${holdS}; echo held`] }, holdS + 30);
        return judge(answer, 'held', 'was answered', 'raise the idle timeout of every proxy above 600 s');
      }),
    );
  }
  await client.send({ method: 'DELETE', path, run });
  return checks;
}

function judge({ status, body }: HttpAnswer, expected: string, good: string, advice: string) {
  const answer: unknown = JSON.parse(body.startsWith('{') ? body : 'null');
  if (status === 200 && Value.Check(ExecAnswer, answer) && answer.stdout.trim() === expected) {
    return { ok: true, detail: good };
  }
  return { ok: false, detail: `answered ${status}: ${body.slice(0, 200)}; if that is a proxy: ${advice}` };
}
