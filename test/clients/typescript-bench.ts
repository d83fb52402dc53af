import { randomUUID } from 'node:crypto';
import { Client, Rollout } from '#clients/typescript/src/index.ts';
import { onOwnFleet } from '#cli/proving/some-fleet.ts';
import { client as pythonClient } from './suites.ts';
import { join } from 'node:path';

/* What the TypeScript client costs: an exec next to the same one by hand over HTTP, alternating, alone and 64 at once. */

const calls = 300;
const atOnce = 64;
const batches = 30;
const sandboxes = 8;

type Call = (rollout: Rollout) => Promise<unknown>;
const byClient: Call = (rollout) => rollout.exec(['true']);

/** Measures on a fleet of its own, and prints. */
export async function measureTypescript(): Promise<void> {
  const environmentsDir = join(pythonClient, 'tests/environments');
  const payloadDir = join(import.meta.dirname, '../../out/payload');
  await onOwnFleet('bench', { payloadDir, environmentsDir }, async (fleet) => {
    const client = new Client({ url: fleet.gatewayUrl, key: fleet.apiKey, run: 'bench' });
    const rollouts = Array.from({ length: sandboxes }, () => new Rollout('counting', { client }));
    await Promise.all(rollouts.map((rollout) => rollout.exec('true')));
    const headers = {
      authorization: `Bearer ${fleet.apiKey}`,
      'content-type': 'application/json',
      'x-corral-run': 'bench',
    };
    const byHand: Call = async ({ rolloutId }) => {
      const body = JSON.stringify({ call_id: `by-hand-${randomUUID()}`, argv: ['true'] });
      const address = `${fleet.gatewayUrl}/v1/rollouts/${rolloutId}/exec`;
      const answer = await fetch(address, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(await answer.text());
      return answer.json();
    };
    const together = (call: Call) => () =>
      Promise.all(Array.from({ length: atOnce }, (_, at) => call(pickOf(rollouts, at))));
    const alone = (call: Call) => () => call(pickOf(rollouts, 0));
    await compare('one exec', calls, alone(byHand), alone(byClient), 1.5);
    await compare(`${atOnce} execs at once`, batches, together(byHand), together(byClient), 1.3);
    await Promise.all(rollouts.map((rollout) => rollout.finish()));
  });
}

const pickOf = (rollouts: readonly Rollout[], at: number): Rollout => {
  const rollout = rollouts[at % rollouts.length];
  if (rollout === undefined) throw new RangeError('no rollout');
  return rollout;
};

async function compare(
  what: string,
  times: number,
  byHand: () => Promise<unknown>,
  byClient: () => Promise<unknown>,
  most: number,
): Promise<void> {
  const took: (readonly [number, number])[] = [];
  for (let done = 0; done < times; done += 1) took.push([await timed(byHand), await timed(byClient)]);
  const kept = took.slice(times / 10);
  const [handMs, clientMs] = [median(kept.map(([hand]) => hand)), median(kept.map(([, client]) => client))];
  console.log(
    `${what}, median of ${times}, alternating: by hand ${handMs.toFixed(1)} ms, corral-client ${clientMs.toFixed(1)} ms, ` +
      `${(clientMs / handMs).toFixed(2)} times (goal: ${most} at most)`,
  );
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await call();
  return performance.now() - beganMs;
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
