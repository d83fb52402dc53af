import { createLaunchQueue } from '../../src/adapters/bullmq/launch-queue.ts';
import { createEventLog } from '../../src/adapters/event-log/event-log.ts';
import { createPrometheus } from '../../src/adapters/prometheus/prometheus.ts';
import { awaitFleetState } from '../../src/adapters/redis/await-fleet-state.ts';
import { createSandboxdHttpLink } from '../../src/adapters/sandboxd-http/link.ts';
import { loadPermitted } from '../../src/environments/load-permitted.ts';
import { recordEnds, recordTaints } from '../../src/lifecycle/record-ends.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openFleetTokens } from '../../src/platform/fleet-tokens.ts';
import { errorFields } from '../../src/platform/logging.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { FleetEvent } from '../../src/ports/event-log.ts';
import type { Log } from '../../src/ports/log.ts';
import type { ControllerConfig } from './config.ts';
import { startController } from './controller.ts';
import { connectEngine } from './engine-wiring.ts';
import { serveOperations } from './http.ts';

/** Redis answers in well under a millisecond; seconds mean that it does not. */
const redisTimeoutMs = 2_000;
/** A sandbox's address is on this machine or in this cluster: a connection takes milliseconds. */
const connectTimeoutMs = 2_000;

/** Connects everything and starts the controller. Returns how to stop it; throws what connecting and loading throw. */
export async function runController(config: ControllerConfig, log: Log): Promise<() => Promise<void>> {
  const catalog = await loadPermitted(config.environmentsDir, config.policyFile);
  const tokens = await openFleetTokens(config.fleetKeyFile);
  const onTrouble = (error: Error) => log.warn('trouble with Redis', errorFields(error));
  const system = { clock: systemClock, random: systemRandom };
  const state = await awaitFleetState(
    { ...config.redis, fleet: config.fleet, commandTimeoutMs: redisTimeoutMs, onTrouble },
    { ...system, log },
  );
  const queue = createLaunchQueue({
    redis: config.redis.url,
    files: config.redis.files,
    fleet: config.fleet,
    max: config.startBudget,
    random: systemRandom,
    onError: onTrouble,
  });
  const link = createSandboxdHttpLink({ tokenOf: (sandbox) => tokens.tokenOf(sandbox), connectTimeoutMs });
  const prometheus = createPrometheus();
  const provider = await connectEngine(config, { ...system, log, onApiCall: prometheus.apiCall });
  const events = createEventLog({ folder: config.eventLogFolder, process: 'controller', log, ...system });
  const record = (event: FleetEvent) => {
    events.append(event);
    prometheus.told(event);
  };

  const controller = startController(
    {
      ...state,
      calls: recordTaints(state.calls, { ...state, ...system, record }),
      lifecycle: recordEnds(state.lifecycle, { ...state, ...system, record }),
      record,
      queue,
      provider,
      link,
      tokens,
      ...system,
      metrics: prometheus.metrics,
      log,
    },
    { newest: catalog.all(), poolOverrides: config.poolOverrides, startBudget: config.startBudget },
  );
  const operations =
    config.listen === null
      ? null
      : await serveOperations({
          listen: config.listen,
          missing: () => controller.missing(),
          fleetState: () => state.health(),
          clock: systemClock,
          metrics: {
            render: async () => {
              prometheus.fleetState(await state.health());
              return prometheus.render();
            },
            contentType: prometheus.contentType,
          },
        });

  const stopping = new AbortController();
  const keyWatch = tokens.watch({ clock: systemClock, log, signal: stopping.signal });

  return async () => {
    stopping.abort();
    await Promise.all([keyWatch.done, controller.stop()]);
    await events.flush();
    await Promise.all([operations?.close(), queue.close(), link.close(), provider.close(), state.close()]);
  };
}
