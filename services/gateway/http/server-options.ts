import type { Socket } from 'node:net';
import { answerRaw, rawFailure } from './raw-errors.ts';

/** Fastify's settings, each with its reason. Nothing here is left to a default that could answer 4xx under /rft. */
export const serverOptions = {
  logger: false,
  /** No proxy's word about addresses is taken: the development key depends on the true one. */
  trustProxy: false,
  /** Longer than the idle time of common load balancers (60 s), so that they close first and no request meets a closed door. */
  keepAliveTimeout: 72_000,
  /** Silence on a connection; a held request is silent for up to 540 s. */
  connectionTimeout: 660_000,
  /** Until the whole request has come: 256 MiB over a slow line. */
  requestTimeout: 300_000,
  /** Stopping is answered in our own shape by the hold gate. */
  return503OnClosing: false,
  /** Node answers 400 by itself to a request without Host; we do not need it. */
  http: { requireHostHeader: false },
  /** Three characters of escape for each of an id's 256, and room for a file's path. */
  routerOptions: { maxParamLength: 4096 },
  /** What came is checked, never bent into shape. */
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
  clientErrorHandler: (error: Error & { readonly code?: string }, socket: Socket): void => {
    answerRaw(rawFailure(error), socket);
  },
} as const;
