import { systemClock } from '#src/platform/clock.ts';
import { createLogger, errorFields } from '#src/platform/logging.ts';
import { onShutdown } from '#src/platform/shutdown.ts';
import { readGatewayConfig } from './config.ts';
import { longestLeaving } from './http/leave.ts';
import { wireGateway } from './wiring.ts';

/** After the grace of held requests: settling, flushing and closing take at most this. */
const closingMs = 10_000;
/** After a second signal: telling those who are held takes two seconds at most, and the event log less. */
const hurriedMs = 3_000;

/** What there is to be stopped while it waits for Redis. */
const nothingYet = (_hurry: AbortSignal) => Promise.resolve();

try {
  const config = readGatewayConfig(process.env);
  const log = createLogger({ service: 'gateway', level: config.logLevel, clock: systemClock });
  let stop = nothingYet;
  onShutdown((_reason, hurry) => stop(hurry), {
    log,
    graceMs: config.drainDelayMs * longestLeaving + config.shutdownGraceMs + closingMs,
    hurriedMs,
    exitWithParent: config.exitWithParent,
  });
  const gateway = await wireGateway(config, log);
  stop = (hurry) => gateway.stop(hurry);
  log.info('listening', { url: await gateway.start() });
} catch (thrown) {
  const log = createLogger({ service: 'gateway', level: 'info', clock: systemClock });
  log.error('the gateway cannot start', errorFields(thrown));
  process.exit(1);
}
