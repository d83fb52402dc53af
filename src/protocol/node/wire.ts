import { type Static, Type } from 'typebox';
import { DataStateBody, OwnerBody, ProviderEventLine, SandboxList, TemplateBody } from './parts.ts';

/**
 * What a provider says to `node`, HTTP over the unix socket {@link nodeSocketName} in its state folder. Whoever may open the
 * socket (its mode is 0600) may do everything; there is no token.
 *
 *   GET    /health                                   204
 *   GET    /limitations                              {@link LimitationsAnswer}
 *   GET    /data                                     {@link DataAnswer}
 *   GET    /sandboxes                                {@link ListAnswer}
 *   GET    /watch                                    NDJSON of {@link WatchLine}, until the client goes away
 *   PUT    /sandboxes/{id}          {@link CreateBody}      202; the same id again changes nothing
 *   PUT    /sandboxes/{id}/label    {@link LabelBody}       204; also when it is gone, which the watch tells
 *   DELETE /sandboxes/{id}                           202; also when it is gone
 *
 * Every other answer is {@link NodeErrorBody}.
 */

export const nodeSocketName = 'node.sock';

/** Silence on a watch after which the client may take the connection for dead: three missed `alive` lines. */
export const watchSilenceMs = 15_000;
export const watchAliveEveryMs = 5000;

export const CreateBody = Type.Object(
  { template: TemplateBody, tokenSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) },
  { additionalProperties: false },
);
export type CreateBody = Static<typeof CreateBody>;

export const LabelBody = Type.Object(
  { owner: OwnerBody, expiresAtMs: Type.Integer({ minimum: 0 }) },
  { additionalProperties: false },
);
export type LabelBody = Static<typeof LabelBody>;

export const ListAnswer = Type.Object({ sandboxes: SandboxList });
export type ListAnswer = Static<typeof ListAnswer>;

export const LimitationsAnswer = Type.Object({
  limitations: Type.Array(Type.String()),
  /** In one line: which users a sandbox's processes are, and whether its limits hold. */
  isolation: Type.String(),
});
export type LimitationsAnswer = Static<typeof LimitationsAnswer>;

export const DataAnswer = Type.Object({ data: Type.Array(DataStateBody) });
export type DataAnswer = Static<typeof DataAnswer>;

/**
 * The first lines are the latest `gone` events, so that a client that was away learns causes, then comes `listed`,
 * then what happens; `alive` comes every {@link watchAliveEveryMs}. A `gone` may thus be seen twice.
 */
export const WatchLine = Type.Union([ProviderEventLine, Type.Object({ kind: Type.Literal('alive') })]);
export type WatchLine = Static<typeof WatchLine>;

export const NodeErrorBody = Type.Object({
  error: Type.Object({
    code: Type.Union([
      Type.Literal('start_failed'), // 422: this sandbox can never start here
      Type.Literal('image_unavailable'), // 422: the registry does not have its image, or refuses it
      Type.Literal('setup_failed'), // 422: the program that makes its data failed
      Type.Literal('unschedulable'), // 503: no memory for it until a neighbour ends, or its data or image is still being made
      Type.Literal('provider_unavailable'), // 503: ask again later
      Type.Literal('invalid_request'), // 400, 404, 413: a client that does not speak this protocol
    ]),
    message: Type.String(),
  }),
});
export type NodeErrorBody = Static<typeof NodeErrorBody>;
