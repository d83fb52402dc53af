import { request } from 'undici';
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
