import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import type { HttpClient } from '../gateway/http-client.ts';
import { type Finding, note, ok, problem } from './finding.ts';
import { docsPage } from '#src/platform/docs.ts';

/** Of `/readyz`: what is decided on. */
const Ready = Type.Object({
  missing: Type.Array(Type.Object({ name: Type.String(), reason: Type.Union([Type.String(), Type.Null()]) })),
  limitations: Type.Union([Type.Array(Type.String()), Type.Null()]),
  fleet_state: Type.Object({
    state: Type.String(),
    reason: Type.Union([Type.String(), Type.Null()]),
    redis: Type.Union([
      Type.Object({
        version: Type.String(),
        maxmemory_policy: Type.String(),
        maxmemory_bytes: Type.Union([Type.Number(), Type.Null()]),
        append_only: Type.Boolean(),
      }),
      Type.Null(),
    ]),
  }),
  environments: Type.Object({ trouble: Type.Union([Type.String(), Type.Null()]) }),
});

/** What is commonly wrong with a fleet that runs. `version`: of this command line. */
export async function examineFleet(client: HttpClient, version: string): Promise<readonly Finding[]> {
  const answer = await client.send({ method: 'GET', path: '/readyz' });
  const ready: unknown = parse(answer.body);
  if (!Value.Check(Ready, ready))
    return [
      problem(
        'gateway',
        `/readyz answered ${answer.status}, not as a gateway does`,
        'check --url, and proxies before the gateway',
      ),
    ];
  return [
    ...ready.missing.map(({ name, reason }) =>
      problem('gateway', `${name}: ${reason ?? 'missing'}`, `${docsPage('operators.md')}, and its log`),
    ),
    ...examineRedis(ready.fleet_state),
    ready.environments.trouble === null
      ? ok('environments', 'the newest are used')
      : problem(
          'environments',
          ready.environments.trouble,
          'correct the files: the fleet goes on with the ones before',
        ),
    ...(ready.limitations ?? []).map((sentence) => note('isolation', sentence)),
    ...(await examineProcesses(client, version)),
  ];
}

function examineRedis({ state, reason, redis }: Static<typeof Ready>['fleet_state']): readonly Finding[] {
  if (redis === null)
    return [problem('Redis', reason ?? state, 'start it, or check its address, password and network')];
  const { version, maxmemory_policy: policy, maxmemory_bytes: most, append_only: append } = redis;
  return [
    policy === 'noeviction'
      ? ok('Redis', `${version}, ${state}`)
      : problem(
          'Redis',
          `maxmemory-policy is ${policy}: it forgets rollouts when its memory is full`,
          'set maxmemory-policy noeviction',
        ),
    ...(most === null || most === 0
      ? [
          note(
            'Redis',
            'it has no maxmemory',
            'set one, so that it refuses writes before the machine is full',
          ),
        ]
      : []),
    ...(append
      ? []
      : [
          note(
            'Redis',
            'it keeps nothing over a restart',
            'appendonly yes, where finished rollouts must stay readable',
          ),
        ]),
  ];
}

/** A process that has just started is listed after its first heartbeat, which it sends within 2 s. */
const firstHeartbeatMs = 5_000;
const askAgainMs = 500;

/** The fleet as soon as it lists a controller, at the latest after the time of a first heartbeat. */
async function listProcesses(client: HttpClient): Promise<Listed> {
  for (let waitedMs = 0; ; waitedMs += askAgainMs) {
    const { status, body } = await client.send({ method: 'GET', path: '/v1/fleet' });
    const fleet = parse(body);
    if (status !== 200 || !Value.Check(FleetAnswer, fleet)) return { status, fleet: null };
    const isComplete = fleet.processes.some(({ kind, state }) => kind === 'controller' && state !== 'left');
    if (isComplete || waitedMs >= firstHeartbeatMs) return { status, fleet };
    await sleep(askAgainMs);
  }
}

/** `fleet` is null if this key may not read it. */
type Listed = { readonly status: number; readonly fleet: Static<typeof FleetAnswer> | null };

async function examineProcesses(client: HttpClient, version: string): Promise<readonly Finding[]> {
  const { status, fleet } = await listProcesses(client);
  if (fleet === null)
    return [
      note('processes', `not shown to this key (${status})`, 'use a key with the scope native or fleet'),
    ];
  const here = fleet.processes.filter(({ state }) => state !== 'left');
  const silent = here.filter(({ state }) => state === 'silent').length;
  const others = [...new Set(here.map((one) => one.version))].filter((one) => one !== version);
  return [
    ...(silent > 0
      ? [problem('processes', `${silent} are silent`, 'look at their machines and logs: corral top')]
      : []),
    ...here.flatMap(({ kind, host, unready }) =>
      unready === undefined
        ? []
        : [
            problem(
              'timings',
              `a ${kind}${host === null ? '' : ` (${host})`} has other timings than the fleet, so it is not ready`,
              unready,
            ),
          ],
    ),
    here.some(({ kind }) => kind === 'controller')
      ? ok('processes', `${here.length} gateways and controllers`)
      : problem('processes', 'no controller: nothing launches sandboxes', 'start one, and look at its log'),
    ...(others.length > 0
      ? [
          note(
            'versions',
            `the fleet has ${others.join(', ')}, this command line ${version}`,
            'use one release for both',
          ),
        ]
      : []),
  ];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
