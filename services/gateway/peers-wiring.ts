import { decideBeginning, type GatewayStartDeps } from '#src/lifecycle/gateway-start.ts';
import { recordLostRequests } from '#src/lifecycle/record-ends.ts';
import { RequestsInHand } from '#src/lifecycle/requests-in-hand.ts';
import { every } from '#src/platform/every.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Log } from '#src/ports/log.ts';
import type { OpenWorld } from './world-wiring.ts';

type PeersOwn = {
  readonly record: (event: FleetEvent) => void;
  readonly log: Log;
  readonly onError: (thrown: unknown) => void;
};

export type Peers = {
  readonly requests: RequestsInHand;
  /** As soon as it has opened its port. */
  begin(): void;
  /** When load balancers are to send it nothing new. */
  leave(): void;
  /** Just before it closes its port. */
  end(): Promise<void>;
};

/** How soon it is noticed that another gateway is gone, and that fleet state is away. */
const keepMs = 1_000;

/** This gateway among the others, for clients that cannot tell a request that was lost from what the policy did. */
export function wirePeers(
  { clock, random, state, processName }: OpenWorld,
  { record, log, onError }: PeersOwn,
): Peers {
  const onLost = async (rollouts: readonly RolloutRecord[]) => {
    for (const { key, discarded } of rollouts)
      log.warn('request lost', { rollout: key, ...discarded?.evidence });
    await recordLostRequests({ calls: state.calls, clock, record }, rollouts);
  };
  const deps: GatewayStartDeps = { gateways: state.gateways, gateway: processName, clock, random, onLost };
  const requests = new RequestsInHand({ ...deps, gateways: state.gateways });
  const ending = new AbortController();
  const { signal } = ending;
  let kept = Promise.resolve();
  const keep = async () => {
    if (!(await decideBeginning(deps, signal))) return;
    requests.decided();
    await every({ intervalMs: keepMs, clock, signal, onError }, () => requests.keep()).done;
  };
  return {
    requests,
    begin: () => {
      kept = keep().catch(onError);
    },
    leave: () => requests.leaves(),
    end: async () => {
      ending.abort();
      await kept;
      await requests.end();
    },
  };
}
