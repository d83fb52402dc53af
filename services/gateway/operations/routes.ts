import { ErrorAnswer } from '../../../src/protocol/native/error.ts';
import { openApiDocument } from '../../../src/protocol/native/openapi.ts';
import type { DescribedRoute } from '../../../src/protocol/native/openapi.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { App } from '../http/app.ts';
import type { HoldGate } from '../http/hold-gate.ts';
import { findMissing } from './readiness.ts';
import type { Need } from './readiness.ts';

export type Operations = {
  readonly gate: HoldGate;
  readonly clock: Clock;
  readonly needs: readonly Need[];
  /** How commands are kept from sandboxd here, `two-user` or `single-user`; null where the gateway cannot know. */
  readonly isolation: string | null;
  readonly renderMetrics: () => Promise<string>;
  readonly routes: readonly DescribedRoute[];
};

/** Below the usual patience of a probe, so that it hears the reason and not a timeout. */
const readinessDeadlineMs = 800;

/** For operators and probes; no key, nothing of any tenant. */
export function operationRoutes(app: App, operations: Operations): void {
  app.get('/healthz', () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const missing = [...(await findMissing(operations.needs, readinessDeadlineMs, operations.clock))];
    if (operations.gate.closing) missing.push({ name: 'gateway', reason: 'it is stopping' });
    const status = missing.length === 0 ? 'ready' : 'not ready';
    const { isolation } = operations;
    return reply.code(missing.length === 0 ? 200 : 503).send({ status, missing, isolation });
  });

  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await operations.renderMetrics()),
  );

  app.get('/openapi.json', () => openApiDocument(operations.routes, '1', ErrorAnswer));
}
