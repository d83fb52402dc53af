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
  /** What this host cannot enforce, in sentences; null where the gateway cannot know. */
  readonly limitations: () => Promise<readonly string[] | null>;
  readonly renderMetrics: () => Promise<string>;
  readonly routes: readonly DescribedRoute[];
};

/** Below the usual patience of a probe, so that it hears the reason and not a timeout. */
const readinessDeadlineMs = 800;

/** For operators and probes; no key, nothing of any tenant. */
export function operationRoutes(app: App, operations: Operations): void {
  app.get('/healthz', () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const [found, limitations] = await Promise.all([
      findMissing(operations.needs, readinessDeadlineMs, operations.clock),
      // Weak isolation is told, not a reason to refuse work; not knowing it is told as null.
      operations.limitations().catch(() => null),
    ]);
    const missing = [...found];
    if (operations.gate.closing) missing.push({ name: 'gateway', reason: 'it is stopping' });
    const status = missing.length === 0 ? 'ready' : 'not ready';
    return reply.code(missing.length === 0 ? 200 : 503).send({ status, missing, limitations });
  });

  app.get('/metrics', async (_request, reply) =>
    reply.type('text/plain; version=0.0.4').send(await operations.renderMetrics()),
  );

  app.get('/openapi.json', () => openApiDocument(operations.routes, '1', ErrorAnswer));
}
