import type { Grant } from '../../../src/access/keys.ts';
import type { CallId, RolloutId } from '../../../src/model/ids.ts';
import type { Hold } from './hold-gate.ts';

/** What the gateway knows of a request in hand beside what the client sent. */
export type RequestState = {
  hold: Hold | null;
  grant: Grant | null;
  /** Told in the error body as soon as they are known. */
  rollout: RolloutId | null;
  call: CallId | null;
};

export const newRequestState = (): RequestState => ({ hold: null, grant: null, rollout: null, call: null });

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for requests that never reached a route. */
    state: RequestState | null;
  }
}
