import { countingEnvironment, installRelease, type Release } from '../support/release.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer } from '../support/faces.ts';

/* The fleet that is broken, and rollouts of it that are in the middle of a command. */

const bare = countingEnvironment.sandbox;
const few = { min_ready: 0, max: 8 };

const limitedTo = (limit: string) => ({ ...bare, memory: { request: limit, limit } });

/** Environments by what is to happen to their sandboxes; resources differ, so that none shares its pool with another. */
const environments = {
  counting: { ...countingEnvironment, pool: { min_ready: 4, max: 20 } },
  // Commands share the daemon's user, so they can kill it.
  rooted: {
    ...countingEnvironment,
    sandbox: { ...limitedTo('120Mi'), run_as: 'root' },
    grader: { kind: 'text', reference: 'item.answer' },
    pool: { min_ready: 5, max: 8 },
  },
  // Gives up on a start early, so that nobody waits a minute to be told that there is no room.
  impatient: { ...countingEnvironment, sandbox: { ...limitedTo('112Mi'), start_timeout: '6s' }, pool: few },
  nothing: {
    ...countingEnvironment,
    sandbox: { ...bare, image: 'corral.local/nothing:1', start_timeout: '20s' },
    pool: { min_ready: 0, max: 4 },
  },
  pinned: {
    ...countingEnvironment,
    sandbox: { ...limitedTo('104Mi'), node_selector: { 'kubernetes.io/hostname': 'n2' } },
    pool: few,
  },
};
export type Environment = keyof typeof environments;

const named = Object.fromEntries(
  Object.entries(environments).map(([name, environment]) => [name, { name, ...environment }]),
);

/** Redis stands on the node that stays, since an emptied one is a fault of its own. */
export const installFleet = (): Promise<Release> =>
  installRelease('alerts', {
    environments: { inline: named },
    redis: { bundled: { nodeSelector: { 'kubernetes.io/hostname': 'n1' } } },
  });

export const sandboxesOf = ({ name }: Release): string => `${name}-sandboxes`;

/** More rollouts than sandboxes are ready, so that some wait for a start; one of their calls is the model's mistake, and all are graded. */
export async function playSome({ rft, native }: Release, wave: string): Promise<void> {
  const environment: Environment = 'counting';
  const traces = Array.from({ length: 6 }, (_, index) => `played-${wave}-${index}`);
  const mistake = { call: 'c2', arguments: '{"cmd":"ls"}', environment };
  await Promise.all(
    traces.map(async (trace, index) => {
      await rft.call({ trace, call: 'c1', command: 'echo ran >> log', environment });
      if (index === 0) await rft.call({ trace, ...mistake });
      await rft.grade({ trace, environment });
    }),
  );
  await native.get('/v1/rollouts/nobody');
}

export type Busy = { readonly trace: string; readonly sandbox: string; readonly answer: Promise<Answer> };

/** Begins rollouts, each with a command that takes a while; resolves when all of them run. */
export async function busyRollouts(
  corral: Release,
  environment: Environment,
  prefix: string,
  count: number,
): Promise<readonly Busy[]> {
  const traces = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  return Promise.all(traces.map((trace) => busyRollout(corral, environment, trace)));
}

async function busyRollout(corral: Release, environment: Environment, trace: string): Promise<Busy> {
  const view = async () => (await corral.native.get(`/v1/rollouts/${trace}`)).body;
  const answer = corral.rft.call({ trace, call: 'c1', command: 'sleep 55', environment });
  // Somebody may be cut off from it by the fault; what it was told is looked at by others.
  answer.catch(() => undefined);
  await eventually(view, { in_flight: 1 });
  const { epoch } = (await view()) as { readonly epoch: { readonly sandbox: string } };
  return { trace, answer, sandbox: epoch.sandbox };
}

/** Ends rollouts, so that their sandboxes are free; whether or not they were lost before. */
export async function endRollouts(corral: Release, traces: readonly string[]): Promise<void> {
  await Promise.all(traces.map((trace) => corral.native.delete(`/v1/rollouts/${trace}`)));
}
