import { systemClock } from '#src/platform/clock.ts';
import { createLogger, errorFields } from '#src/platform/logging.ts';
import { onShutdown } from '#src/platform/shutdown.ts';
import { readControllerConfig } from './config.ts';
import { runController } from './wiring.ts';

/** Loops end within a step, which is a script or a provider call; launches are given back to the queue at once. */
const shutdownGraceMs = 10_000;

/** What there is to be stopped while it waits for Redis. */
const nothingYet = () => Promise.resolve();

try {
  const config = readControllerConfig(process.env);
  const log = createLogger({ service: 'controller', level: config.logLevel, clock: systemClock });
  let stop = nothingYet;
  onShutdown(() => stop(), { log, graceMs: shutdownGraceMs, exitWithParent: config.exitWithParent });
  stop = await runController(config, log);
  log.info('controller started', { fleet: config.fleet, startBudget: config.startBudget });
} catch (thrown) {
  const log = createLogger({ service: 'controller', level: 'info', clock: systemClock });
  log.error('the controller cannot start', errorFields(thrown));
  process.exit(1);
}
