import { sandboxdArgv } from '../../infra/payload/payload.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { onShutdown } from '../../src/platform/shutdown.ts';
import { loadConfig } from './config.ts';
import { places } from './bwrap/places.ts';
import { startNode } from './wiring.ts';

/** Killing some hundred sandboxes takes a second or two; one that hangs is left to the next start. */
const stopGraceMs = 20_000;

const config = loadConfig(process.env);
const log = createLogger({ service: 'node', level: config.logLevel, clock: systemClock });
const node = await startNode({
  config,
  log,
  clock: systemClock,
  sandboxdArgv: sandboxdArgv(places.payload),
});
onShutdown(() => node.stop(), { log, graceMs: stopGraceMs, exitWithParent: config.exitWithParent });
