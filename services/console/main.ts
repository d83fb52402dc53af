import { join } from 'node:path';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger, errorFields } from '#src/platform/logging.ts';
import { systemRandom } from '#src/platform/random.ts';
import { onShutdown } from '#src/platform/shutdown.ts';
import { readConsoleConfig } from './config.ts';
import { createConsoleServer } from './server.ts';

/** It only reads, so a stop loses nothing. */
const shutdownGraceMs = 3_000;

try {
  const config = readConsoleConfig(process.env);
  const log = createLogger({ service: 'console', level: config.logLevel, clock: systemClock });
  const page = join(import.meta.dirname, 'page');
  const server = createConsoleServer(config, { clock: systemClock, random: systemRandom, log, page });
  const { exitWithParent } = config;
  onShutdown(() => server.close(), { log, graceMs: shutdownGraceMs, exitWithParent });
  log.info('console started', { port: await server.listen(), gateway: config.gatewayUrl });
} catch (thrown) {
  const log = createLogger({ service: 'console', level: 'info', clock: systemClock });
  log.error('the console cannot start', errorFields(thrown));
  process.exit(1);
}
