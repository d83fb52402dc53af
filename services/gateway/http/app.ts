import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Grant } from '#src/access/keys.ts';
import type { CallId, RolloutId } from '#src/model/ids.ts';
import type { Written } from '#src/model/written.ts';
import type { Pass } from '../e2b/pass.ts';
import type { Hold } from './hold-gate.ts';

/** A Fastify instance whose handlers have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What the gateway knows of a request in hand beside what the client sent. */
type RequestState = {
  hold: Hold | null;
  grant: Grant | null;
  /** What an E2B client showed in place of a key. */
  pass: Pass | null;
  /** What the model wrote, where its route's body has such a member and it came. */
  written: Written | null;
  /** Told in the error body as soon as they are known. */
  rollout: RolloutId | null;
  call: CallId | null;
  /** It was told that this gateway has stopped; what its work comes to is for the repeat. */
  cutOff: boolean;
};

export const newRequestState = (): RequestState => ({
  hold: null,
  grant: null,
  pass: null,
  written: null,
  rollout: null,
  call: null,
  cutOff: false,
});

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for requests that never reached a route. */
    state: RequestState | null;
  }
}
