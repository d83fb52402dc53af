import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import type { LocalSandbox } from '#cli/fleet/sandbox-list.ts';
import { isObject, readObject } from '#demo/trainer/reading.ts';

/** The native face only reads here. */
const readTimeoutMs = 10_000;

/** Which sandbox a rollout has or had, by the fleet's own record; null where it says none. */
export async function sandboxOf(
  fleet: { readonly gatewayUrl: string; readonly apiKey: string },
  run: string,
  rollout: string,
): Promise<string | null> {
  const { body } = await request(`${fleet.gatewayUrl}/v1/rollouts/${encodeURIComponent(rollout)}`, {
    headers: { authorization: `Bearer ${fleet.apiKey}`, 'x-corral-run': run },
    signal: AbortSignal.timeout(readTimeoutMs),
  });
  const epoch = readObject(await body.text())?.['epoch'];
  const sandbox = isObject(epoch) ? epoch['sandbox'] : null;
  return typeof sandbox === 'string' ? sandbox : null;
}

/** The daemon's pid as the host sees it: the first child of the sandbox's process 1. Null when it has ended. */
export async function sandboxdOf({ pid }: Pick<LocalSandbox, 'pid'>): Promise<number | null> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const first = Number(children.trim().split(' ')[0]);
  return first > 0 ? first : null;
}
