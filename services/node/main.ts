import { join } from 'node:path';
import { namelessSandboxdArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { createLogger } from '#src/platform/logging.ts';
import { onShutdown } from '#src/platform/shutdown.ts';
import { loadConfig } from './config.ts';
import { places } from './bwrap/places.ts';
import { tryOneSandbox } from './sandbox/trial.ts';
import { startNode } from './wiring.ts';

/** Killing some hundred sandboxes takes a second or two; one that hangs is left to the next start. */
const stopGraceMs = 20_000;

const config = loadConfig(process.env);
const log = createLogger({ service: 'node', level: config.logLevel, clock: systemClock });
const starting = startNode({
  config,
  log,
  clock: systemClock,
  sandboxdArgv: namelessSandboxdArgv(places.payload),
  // Bundled next to this one.
  mirrorProxyProgram: join(import.meta.dirname, 'mirror-proxy.mjs'),
  trial: tryOneSandbox,
});
// Before it serves: a signal in between must not leave what has been started.
onShutdown(async () => (await starting).stop(), {
  log,
  graceMs: stopGraceMs,
  exitWithParent: config.exitWithParent,
});
await starting.catch((thrown: unknown) => {
  log.error('node cannot start', { error: thrown instanceof Error ? thrown.message : String(thrown) });
  process.exit(1);
});
