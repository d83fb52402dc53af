import { setTimeout as sleep } from 'node:timers/promises';
import { untilNodesAreReady } from '#infra/cluster/api.ts';
import { cutNode, joinNodeAgain } from '#infra/cluster/levers.ts';
import { run } from '#infra/cluster/machine/run.ts';
import type { AlertName } from '#infra/monitoring/rules/rules.ts';
import type { Blame } from '#src/failure/codes.ts';
import { sandboxId } from '#src/model/ids.ts';
import { killSandboxd } from '../support/cluster-provider.ts';
import type { Release } from '../support/release.ts';
import { busyRollouts, endRollouts, sandboxesOf } from './fleet.ts';

/** Takes the fault back. */
export type Fix = () => Promise<unknown>;

export type Fault = {
  /** Whom its alerts must blame; one that blames somebody else fails the test. */
  readonly blame: Blame;
  /** What it must fire, all of them. Others of the same blame are its consequences, and told. */
  readonly fires: readonly [AlertName, ...AlertName[]];
  /** Played also where there are two minutes. */
  readonly quick?: true;
  /** Breaks it, and resolves when it is broken: what fires may come later. */
  readonly make: (corral: Release) => Promise<Fix>;
};

const nothingToMend: Fix = () => Promise.resolve();

/** Longer than two looks of the rules in which a rate has something to rise between. */
const betweenLossesMs = 1_000;

/**
 * In this order, the fleet quiet in between. Faults whose windows are an hour come before those that would stand in them, and the
 * image that is not there comes last: after it appears, its template's breaker still waits before it tries again.
 */
export const faults: Readonly<Record<string, Fault>> = {
  'a job has a key that is not valid': {
    blame: 'caller',
    fires: ['CallersMistaken'],
    quick: true,
    make: async ({ rft }) => {
      const nobody = { authorization: 'Bearer corral_nobody_0' };
      const call = { call: 'c1', environment: 'counting', command: 'echo' };
      await inTurn(30, (index) => rft.call({ ...call, trace: `key-${index}` }, nobody));
      return nothingToMend;
    },
  },

  'a model calls its tool with wrong arguments': {
    blame: 'model',
    fires: ['ModelCannotUseTools'],
    quick: true,
    make: async (corral) => {
      const call = { trace: 'arguments', environment: 'counting', arguments: '{"cmd":"ls"}' };
      await inTurn(40, (index) => corral.rft.call({ ...call, call: `c${index}` }));
      return () => endRollouts(corral, ['arguments']);
    },
  },

  'there is no controller': {
    blame: 'infrastructure',
    fires: ['PartAway'],
    quick: true,
    make: (corral) => scaledToNothing(corral, `deployment/${corral.name}-controller`, 2),
  },

  'somebody deletes sandboxes that work': {
    blame: 'infrastructure',
    fires: ['SandboxesLost', 'RolloutsLostFast', 'ToolCallsFail'],
    quick: true,
    make: async (corral) => {
      const busy = await busyRollouts(corral, 'counting', 'deleted', 5);
      const from = `--namespace=${sandboxesOf(corral)}`;
      // One after another, as clean-up jobs do, so that a rate over seconds has something to see.
      for (const { sandbox } of busy) {
        await corral.kubectl(['delete', 'pod', sandbox, from, '--wait=false', '--grace-period=1']);
        await sleep(betweenLossesMs);
      }
      return nothingToMend;
    },
  },

  'a policy kills what runs in its sandbox': {
    blame: 'model',
    fires: ['PolicyBreaksSandboxes'],
    make: async ({ rft }) => {
      const call = { call: 'c1', command: 'kill -9 -1; sleep 50', environment: 'rooted' };
      await Promise.all([0, 1, 2, 3, 4].map((index) => rft.call({ ...call, trace: `broken-${index}` })));
      return nothingToMend;
    },
  },

  'sandboxd is killed, and nobody can tell by whom': {
    blame: 'model',
    fires: ['PolicyBreaksSandboxes'],
    make: async (corral) => {
      const busy = await busyRollouts(corral, 'counting', 'killed', 4);
      for (const { sandbox } of busy) await killSandboxd(sandboxId(sandbox));
      return nothingToMend;
    },
  },

  'Redis was given a policy that evicts': {
    blame: 'infrastructure',
    fires: ['RedisMayEvict'],
    make: async (corral) => {
      await redis(corral, 'CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru');
      return () => redis(corral, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    },
  },

  'Redis is nearly full': {
    blame: 'infrastructure',
    fires: ['RedisNearlyFull'],
    make: async (corral) => {
      const [, used = ''] = /used_memory:(\d+)/.exec(await redis(corral, 'INFO', 'memory')) ?? [];
      await redis(corral, 'CONFIG', 'SET', 'maxmemory', `${Math.round(Number(used) * 1.1)}`);
      return () => redis(corral, 'CONFIG', 'SET', 'maxmemory', '256mb');
    },
  },

  'the quota of sandboxes is zero': {
    blame: 'infrastructure',
    fires: ['LineStandsStill', 'NoSandboxInTime', 'KubernetesApiRefuses'],
    make: async (corral) => {
      const from = `--namespace=${sandboxesOf(corral)}`;
      await corral.kubectl(['create', 'quota', 'none', '--hard=pods=0', from]);
      const traces = await waitingRollouts(corral, 'impatient', 'quota', 3);
      return async () => {
        await corral.kubectl(['delete', 'resourcequota', 'none', from]);
        await endRollouts(corral, traces);
      };
    },
  },

  'controllers may not create pods any more': {
    blame: 'infrastructure',
    fires: ['KubernetesApiRefuses'],
    make: async (corral) => {
      const role = ['role', `${corral.name}-controller`, `--namespace=${sandboxesOf(corral)}`];
      const { rules } = JSON.parse(await corral.kubectl(['get', ...role, '--output=json'])) as Role;
      const allow = (allowed: Role['rules']) =>
        corral.kubectl(['patch', ...role, '--type=merge', `--patch=${JSON.stringify({ rules: allowed })}`]);
      await allow(without(rules, 'create'));
      // As many as its pool may have: sandboxes that the fault before left ready serve some of them, and need no right.
      const traces = await waitingRollouts(corral, 'impatient', 'rights', 8);
      return async () => {
        await allow(rules);
        await endRollouts(corral, traces);
      };
    },
  },

  'Redis is stopped': {
    blame: 'infrastructure',
    fires: ['FleetStateAway'],
    make: (corral) => scaledToNothing(corral, `statefulset/${corral.name}-redis`, 1),
  },

  'a node is lost with the rollouts on it': {
    blame: 'infrastructure',
    fires: ['SandboxesLost', 'RolloutsLostFast'],
    make: async (corral) => {
      await busyRollouts(corral, 'pinned', 'node', 4);
      await cutNode(corral.cluster, 'n2');
      return async () => {
        await joinNodeAgain(corral.cluster, 'n2');
        await untilNodesAreReady(corral.cluster);
        await corral.kubectl(['rollout', 'status', `deployment/${corral.name}-gateway`, '--timeout=100s']);
      };
    },
  },

  'an environment’s image is nowhere': {
    blame: 'infrastructure',
    fires: ['TemplateCannotStart'],
    make: async (corral) => {
      const traces = await waitingRollouts(corral, 'nothing', 'image', 4);
      return async () => {
        for (const { containerdSocket } of corral.cluster.nodes) {
          const ctr = [
            'ctr',
            '--address',
            containerdSocket,
            '--namespace',
            'k8s.io',
            'images',
            'tag',
            '--force',
          ];
          await run([...ctr, 'corral.local/bare:dev', 'corral.local/nothing:1']);
        }
        // They wait until one of them starts, which closes the breaker.
        await sleep(40_000);
        await endRollouts(corral, traces);
      };
    },
  },
};

async function scaledToNothing(corral: Release, what: string, replicas: number): Promise<Fix> {
  await corral.kubectl(['scale', what, '--replicas=0']);
  return async () => {
    await corral.kubectl(['scale', what, `--replicas=${replicas}`]);
    await corral.kubectl(['rollout', 'status', what, '--timeout=100s']);
  };
}

/** One after another, as one job sends them. */
async function inTurn(count: number, send: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index += 1) await send(index);
}

/** Opened, and each waiting for its first call's sandbox for as long as a request may; nobody looks at the answers. */
async function waitingRollouts(
  corral: Release,
  environment: 'impatient' | 'nothing',
  prefix: string,
  count: number,
): Promise<readonly string[]> {
  const traces = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  for (const trace of traces)
    corral.rft.call({ trace, call: 'c1', command: 'echo', environment }).catch(() => undefined);
  // A request on the native face that says for how long it wants to wait is told why in that time.
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo' } };
  const impatient = `${prefix}-impatient`;
  await corral.native.open(impatient, environment);
  corral.native.post(`/v1/rollouts/${impatient}/calls?wait_s=12`, call).catch(() => undefined);
  return [...traces, impatient];
}

const redis = (corral: Release, ...command: readonly string[]): Promise<string> =>
  corral.kubectl(['exec', `${corral.name}-redis-0`, '--', 'redis-cli', ...command]);

type Role = { readonly rules: readonly { readonly verbs: readonly string[] }[] };

const without = (rules: Role['rules'], verb: string) =>
  rules.map(({ verbs, ...rest }) => ({ verbs: verbs.filter((one) => one !== verb), ...rest }));
