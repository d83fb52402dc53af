import type { GatewayCore } from '#services/gateway/core-interface.ts';
import { createGatewayCore, type GatewayWorld } from '#services/gateway/core-wiring.ts';
import type { Post } from '#src/adapters/judge-http/ask-once.ts';
import { createJudge } from '#src/adapters/judge-http/http-judge.ts';
import { productionTimings } from '#src/model/timings.ts';
import type { ProbeDependency } from '#src/ports/dependency-probe.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { SandboxLink } from '#src/ports/sandbox-link.ts';
import { offered } from '#test/fakes/offered.ts';
import { createFakeWorkMetrics } from '#test/fakes/work-metrics.ts';
import type { Chance } from '../engine/chance.ts';
import type { SimProcess } from '../engine/process.ts';
import type { Environment } from '#src/model/environment.ts';
import type { ProcessFleet } from '../fleet/process-fleet.ts';

export type Gateway = { readonly process: SimProcess; readonly core: GatewayCore };

export type GatewayParts = {
  readonly process: SimProcess;
  readonly fleet: ProcessFleet;
  readonly environments: readonly Environment[];
  readonly link: SandboxLink;
  readonly post: Post;
  readonly probe: ProbeDependency;
  readonly chance: Chance;
  readonly record: (event: FleetEvent) => void;
  readonly onTrouble: (thrown: unknown) => void;
};

/** The world of one gateway, which a test may change before the production core is made over it. */
export function gatewayWorld({
  process,
  fleet,
  environments,
  link,
  post,
  probe,
  chance,
  record,
  onTrouble,
}: GatewayParts): GatewayWorld {
  return {
    ...fleet,
    published: fleet.environments,
    link,
    judge: createJudge({ clock: process.clock, random: chance }, post),
    probe,
    catalog: offered(environments),
    clock: process.clock,
    random: chance,
    work: createFakeWorkMetrics(),
    timings: productionTimings,
    secret: () => undefined,
    record,
    onTrouble,
  };
}

export function startGateway(process: SimProcess, world: GatewayWorld): Gateway {
  return { process, core: createGatewayCore(world).core };
}
