import type { FailureCode } from '../codes.ts';
import type { Meaning } from './meaning.ts';

/** Why the fleet itself cannot answer now. */
export const fleetItself = {
  state_unavailable: {
    means:
      'Redis does not answer, or cannot serve: it is loading, out of memory, or a replica that may not write. Of one rollout: it has lost the dataset row, and the request did not bring it again; or it is new, and nine tenths of `maxmemory` are used by what may not be forgotten.',
    evidence:
      '`redis`: its own words. `fleet_state` of `/readyz`, and `corral_redis_up`, of every process that cannot reach it.',
    operator:
      'Bring Redis back; nothing else is needed. Sandboxes go on meanwhile, and finished answers wait in their journals. Where only new rollouts are refused, raise its `maxmemory`.',
  },
  recovering: {
    means:
      'Redis was restarted or replaced, and a controller is writing the fleet back from the provider’s list and from what each sandbox says of itself. Of one rollout: its sandbox has not answered since.',
    evidence:
      'The message says which of the two. When it is over the controller logs `this Redis now holds the fleet`, with counts.',
    operator:
      'It takes seconds. Where it lasts: is a controller up, and does it reach the provider and the sandboxes?',
  },
  provider_unavailable: {
    means:
      'The engine that makes sandboxes (`node`, or the Kubernetes API) does not answer, or takes nothing more for now.',
    evidence: 'The message has its own words; `corral_loop_failures_total` of the controller rises.',
    operator:
      'Bring it back. Only starts and removals need it: rollouts that have a sandbox go on, and the breaker does not count it.',
  },
  gateway_overloaded: {
    means: 'This gateway holds as many requests, or bytes of bodies, as it may.',
    evidence: '`heldRequests`, `heldBodyBytes`; `corral_gateway_held_requests` over time.',
    operator:
      'Add gateways. With memory to spare, raise `CORRAL_MAX_HELD_REQUESTS` or `CORRAL_MAX_HELD_BODY_BYTES`.',
  },
  rows_full: {
    means:
      'The dataset rows of the tenant’s open rollouts fill its share of Redis: 256 MiB, and never more than a quarter of Redis’ `maxmemory`. A row goes with the end of its rollout. Other tenants are not touched.',
    evidence: '`corral runs` shows open rollouts; the trainer’s rows are up to 1 MB each.',
    operator:
      'Mostly nothing: the trainer sends smaller rows, or keeps fewer rollouts open. With memory to spare, raise `maxmemory` and `CORRAL_MAX_TENANT_ROW_BYTES` and start the gateways again.',
  },
  shutting_down: {
    means:
      'This gateway was told to stop: it takes nothing new and finishes what it holds. What it could not finish within its grace is told this too, with `admitted: unknown`: the same request at another gateway joins what was begun.',
    evidence: '`/readyz` of that gateway is 503 and says `gateway`.',
    operator:
      'Nothing, while gateways are being replaced; of many with `admitted: unknown`, the grace is too short ([how they leave](operators.md#gateways-that-leave)). A load balancer that goes on sending does not look at `/readyz`.',
  },
  unclassified: {
    means: 'An error that nobody has given a code. It counts as ours, and it is a bug.',
    evidence:
      '`error` and `message`; the gateway logs it at level `error`, with rollout and call. `corral_gateway_failures_total` and `corral_controller_failures_total` with `code="unclassified"` exist from the start, at zero.',
    operator: 'Alert on any rise and report it with the log line; it gets a code of this page, or is mended.',
  },
} as const satisfies Partial<Record<FailureCode, Meaning>>;
