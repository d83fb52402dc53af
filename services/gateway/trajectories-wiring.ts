import { openObjectStore } from '#src/adapters/object-store/open-store.ts';
import type { GatewayPrometheus } from '#src/adapters/prometheus/gateway-prometheus.ts';
import { removeOld } from '#src/adapters/trajectories/retention.ts';
import { createTrajectoryLog, type TrajectoryLog } from '#src/adapters/trajectories/trajectory-log.ts';
import { every } from '#src/platform/every.ts';
import { errorFields } from '#src/platform/logging.ts';
import type { TrajectorySettings } from '#src/platform/trajectory-settings.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';

type Deps = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly logs: GatewayPrometheus['logs'];
};

/** Every gateway looks for what is too old: what another one removed is no error. */
const retentionMs = 6 * 60 * 60 * 1000;
/** A store that is away must not hold up a gateway that ends: on one machine it has 3 s in all. What the store lacks then is logged. */
const lastWordMs = 2_000;

/** Kept lines go to the trajectory store, too, and old ones leave it. Null settings: there is no store. */
export function wireTrajectories(
  settings: TrajectorySettings | null,
  { clock, random, log, logs }: Deps,
): Pick<TrajectoryLog, 'add'> & { close(): Promise<void> } {
  if (settings === null) return { add: () => undefined, close: () => Promise.resolve() };
  const store = openObjectStore(settings.place, settings.variables);
  const { trajectoriesDropped: onDropped, trajectoriesWritten: onWritten } = logs;
  const stopping = new AbortController();
  const ending = new AbortController();
  const giveUp = ending.signal;
  const written = createTrajectoryLog({ store, clock, random, log, giveUp, onDropped, onWritten });
  const { signal } = stopping;
  const onError = (error: unknown) =>
    log.warn('old trajectories could not be removed', { place: store.place, ...errorFields(error) });
  void every({ intervalMs: retentionMs, clock, signal, onError }, async () => {
    const removed = await removeOld(store, settings, clock.nowMs());
    if (removed.objects > 0) log.info('old trajectories removed', { place: store.place, ...removed });
  });
  return {
    add: (line, key) => written.add(line, key),
    close: async () => {
      stopping.abort();
      const stored = written.flush().then(() => true);
      const isStored = await Promise.race([stored, clock.sleep(lastWordMs).then(() => false)]);
      ending.abort();
      if (!isStored) log.error('the last trajectories are not stored', { place: store.place });
    },
  };
}
