import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Api } from '#src/adapters/kubernetes/api/calls.ts';
import { processLabels } from '#src/adapters/kubernetes/manifests/labels.ts';
import { fleetSelector, labelKeys } from '#src/adapters/kubernetes/pod/labels.ts';
import type { Clock } from '#src/ports/clock.ts';
import { CommandError } from '../command-error.ts';
import { ask } from './api.ts';
import { type SecretKind, secretName } from './secrets.ts';

export type Sweep = {
  readonly fleet: string;
  /** Of the fleet's own pods. */
  readonly home: string;
  /** Where its sandboxes are to be removed; null: their namespace goes as a whole. */
  readonly sandboxes: string | null;
  /** Secrets that go, too. */
  readonly kinds: readonly SecretKind[];
};

/** A controller ends within 30 s of being asked to, and a sandbox within its own 30 s. */
const patienceMs = 180_000;
const everyMs = 1_000;

/** A call that waits too long for its turn fails, and a fleet may leave thousands. */
const atOnce = 100;

/** Removes what a fleet leaves in its cluster when its own objects are gone. Returns a line for each thing that was done. */
export async function sweep(api: Api, plan: Sweep, clock: Clock): Promise<readonly string[]> {
  const { fleet, home, sandboxes, kinds } = plan;
  const told: string[] = [];
  const giveUpMs = clock.monotonicMs() + patienceMs;
  // A tool that renders and applies the whole chart also runs this job while the fleet is meant to stay.
  await untilNone(() => installed(api, plan), `Deployments in ${home}`, giveUpMs, clock);
  if (sandboxes !== null) told.push(await removeSandboxes(api, { ...plan, sandboxes }, giveUpMs, clock));
  for (const kind of kinds) told.push(await remove(api, home, 'secrets', secretName(fleet, kind)));
  // Of a preflight that failed: it stays to be looked at.
  told.push(await remove(api, home, 'pods', `${fleet}-preflight`));
  return told;
}

async function removeSandboxes(
  api: Api,
  { fleet, home, sandboxes }: Sweep & { readonly sandboxes: string },
  giveUpMs: number,
  clock: Clock,
): Promise<string> {
  const controllers = `${labelKeys.fleet}=${fleet},${processLabels.component}=controller`;
  // One that still runs would make new ones.
  await untilNone(() => podsOf(api, home, controllers), `controllers in ${home}`, giveUpMs, clock);
  let removed = new Set<string>();
  await untilNone(
    async () => {
      const left = await podsOf(api, sandboxes, fleetSelector(fleet));
      const fresh = left.filter((name) => !removed.has(name));
      for (let from = 0; from < fresh.length; from += atOnce) {
        await Promise.all(
          fresh.slice(from, from + atOnce).map((name) => remove(api, sandboxes, 'pods', name)),
        );
      }
      removed = removed.union(new Set(fresh));
      return left;
    },
    `sandboxes in ${sandboxes}`,
    giveUpMs,
    clock,
  );
  return `${removed.size} sandboxes in ${sandboxes} are gone`;
}

async function untilNone(
  look: () => Promise<readonly string[]>,
  what: string,
  giveUpMs: number,
  clock: Clock,
): Promise<void> {
  for (;;) {
    const left = await look();
    if (left.length === 0) return;
    if (clock.monotonicMs() >= giveUpMs) throw stillThere(what, left);
    await clock.sleep(everyMs);
  }
}

const stillThere = (what: string, left: readonly string[]) =>
  new CommandError(
    `there are still ${left.length} ${what}: ${left.slice(0, 5).join(', ')}`,
    'the fleet',
    'look at why they do not end (kubectl describe pod), and run this again',
  );

async function installed(api: Api, { fleet, home }: Sweep): Promise<readonly string[]> {
  const name = `${fleet}-controller`;
  const path = `/apis/apps/v1/namespaces/${home}/deployments/${name}`;
  const { status } = await ask(api, { verb: 'get', resource: 'deployments', path }, [404]);
  return status === 404 ? [] : [name];
}

const PodList = Type.Object({
  items: Type.Array(Type.Object({ metadata: Type.Object({ name: Type.String() }) })),
});

async function podsOf(api: Api, namespace: string, labelSelector: string): Promise<readonly string[]> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const { value } = await ask(api, { verb: 'list', resource: 'pods', path, query: { labelSelector } });
  if (!Value.Check(PodList, value)) {
    throw new CommandError(
      'the API server’s answer is not a list of pods',
      'the fleet',
      'is that a Kubernetes API?',
    );
  }
  return value.items.map(({ metadata }) => metadata.name);
}

async function remove(api: Api, namespace: string, resource: string, name: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/${resource}/${name}`;
  const { status } = await ask(api, { verb: 'delete', resource, path }, [404]);
  return `${resource} ${name} ${status === 404 ? 'was not there' : 'is removed'}`;
}
