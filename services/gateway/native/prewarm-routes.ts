import type { Prewarm } from '#src/claiming/prewarm.ts';
import { PrewarmAnswer, PrewarmBody } from '#src/protocol/native/runs.ts';
import type { GatewayCore } from '../core-interface.ts';
import type { App } from '../http/app.ts';
import { invalid } from '../http/failure-of.ts';
import { callerOf } from '../http/identify.ts';
import { environmentRef, takeItem } from '../http/taking.ts';

/** A burst that is announced finds its sandboxes ready. */
export function prewarmRoutes(app: App, core: GatewayCore): void {
  app.post(
    '/prewarm',
    { schema: { summary: 'Announce a burst', body: PrewarmBody, response: { 202: PrewarmAnswer } } },
    async (request, reply) => {
      const { body } = request;
      const { environment, templates, count, untilMs } = await core.prewarm(
        callerOf(request, 'native', body.run),
        {
          environment: environmentRef(body.environment),
          rollouts: rolloutsOf(body),
          neededAtMs: neededAtMsOf(body.needed_at),
        },
      );
      return reply.code(202).send({
        environment: environment.name,
        version: environment.version,
        templates: [...templates],
        count,
        until: new Date(untilMs).toISOString(),
      });
    },
  );
}

function rolloutsOf({ count, items }: PrewarmBody): Prewarm['rollouts'] {
  if (count !== undefined && items === undefined) return count;
  if (items !== undefined && count === undefined) {
    return items.map((each) => ({ item: takeItem(each.item), count: each.count }));
  }
  throw invalid('say how many rollouts will come: either "count", or "items" with a count each');
}

function neededAtMsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const atMs = Date.parse(text);
  if (Number.isNaN(atMs)) throw invalid('needed_at is no time such as 2026-11-21T12:00:00Z');
  return atMs;
}
