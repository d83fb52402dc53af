import { noTracer } from '#src/ports/tracer.ts';
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import { createSandboxTokens } from '#src/platform/tokens.ts';
import { startController } from '#services/controller/controller.ts';
import type { ControllerSettings } from '#services/controller/plan-book.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { productionTimings } from '#src/model/timings.ts';
import type { Engine } from './engine.ts';

const tokens = createSandboxTokens({ current: 'ab'.repeat(32), other: null });

/** Errors of connections that a test cuts on purpose. */
const ignored = () => undefined;

/** Fleet state over a connection of its own. */
export async function openState(socket: string): Promise<FleetState> {
  const state = await connectFleetState({
    url: socket,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: ignored,
  });
  await state.adoptRedis('empty');
  return state;
}

/** A whole controller with its own connections, over the given engine. */
export async function openController(socket: string, engine: Engine, settings: ControllerSettings) {
  const state = await openState(socket);
  const log = createFakeLog();
  const metrics = createFakeMetrics();
  const queue = createLaunchQueue({
    redis: socket,
    fleet: 'test',
    onError: ignored,
  });
  const controller = startController(
    {
      ...state,
      provider: engine.provider,
      link: engine.link,
      queue,
      tokens,
      clock: systemClock,
      random: systemRandom,
      timings: productionTimings,
      tracer: noTracer,
      metrics,
      log,
      record: () => undefined,
    },
    settings,
  );
  return {
    controller,
    log,
    metrics,
    stop: async () => {
      await controller.stop();
      await Promise.all([queue.close(), state.close()]);
    },
  };
}

/** Waits until `condition` holds; fails with `what` when it does not in time. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 10_000,
): Promise<void> {
  const untilMs = systemClock.monotonicMs() + timeoutMs;
  while (!(await condition())) {
    if (systemClock.monotonicMs() > untilMs)
      throw new Error(`did not happen within ${timeoutMs} ms: ${what}`);
    await systemClock.sleep(10);
  }
}
