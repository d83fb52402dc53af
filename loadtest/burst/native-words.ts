import type { Post, Reply } from '#demo/trainer/http.ts';
import { readObject } from '#demo/trainer/reading.ts';

/** Where the native face is, and as whom it is spoken to. */
export type NativeJob = {
  readonly url: string;
  readonly key: string;
  readonly run: string;
  readonly environment: string;
};

/**
 * The same trainer on the native face: each request of the RFT face is said in native words. It opens a rollout before its
 * first call, attaches to what still runs, and ends what was graded. A native trainer shows no failure to its policy,
 * so whatever is no success comes back as one, which is tried again or discards.
 */
export function nativeWords(post: Post, { url, key, run, environment }: NativeJob): Post {
  const opened = new Map<string, Promise<Reply>>();
  const headers = { authorization: `Bearer ${key}`, 'x-corral-run': run };
  const say = async (path: string, body: unknown, timeoutMs?: number): Promise<Reply> => {
    for (;;) {
      const reply = await post(`${url}/v1/rollouts${path}`, headers, JSON.stringify(body), timeoutMs);
      // It still runs: the same again attaches to it.
      if (reply.status !== 202) return reply;
    }
  };
  const open = (rollout: string, item: unknown): Promise<Reply> => {
    const opening = opened.get(rollout) ?? say('', { rollout_id: rollout, environment, item });
    opened.set(rollout, opening);
    const forget = () => void opened.delete(rollout);
    opening.then(({ status }) => status > 201 && forget(), forget);
    return opening;
  };
  return async (to, _headers, body, timeoutMs) => {
    const said = readObject(body) ?? {};
    const rollout = String(said['trace_id']);
    const opening = await open(rollout, said['item']);
    if (opening.status > 201) return asFailure(opening);
    const path = `/${encodeURIComponent(rollout)}`;
    if (!to.endsWith('/grade')) return asOutput(await say(`${path}/calls`, callOf(said), timeoutMs), said);
    const graded = await say(`${path}/grade`, { sample: said['sample'] }, timeoutMs);
    if (graded.status === 200) await say(`${path}/finish`, {}, timeoutMs);
    return asFailure(graded);
  };
}

type Said = Readonly<Record<string, unknown>>;

const callOf = (said: Said) => ({
  call_id: said['call_id'],
  name: said['name'],
  arguments: readObject(String(said['arguments'])),
});

const asFailure = (reply: Reply): Reply =>
  reply.status === 200 ? reply : { ...reply, status: Math.max(500, reply.status) };

function asOutput(reply: Reply, { call_id }: Said): Reply {
  if (reply.status !== 200) return asFailure(reply);
  const output = readObject(reply.body)?.['output'];
  return { status: 200, body: JSON.stringify({ type: 'function_call_output', call_id, output }) };
}
