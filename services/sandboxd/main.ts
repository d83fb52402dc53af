/**
 * sandboxd: the daemon in every sandbox. It accepts one rollout for life, runs its calls as another user, keeps their
 * answers until they are stored elsewhere, and ends itself when its time has passed. `src/protocol/sandboxd/wire.ts` is
 * all that it speaks.
 */
import { imageEnvironment } from './command/image-variables.ts';
import { readConfig } from './config.ts';
import { createDaemon } from './daemon.ts';
import { createHttpServer } from './http/server.ts';
import { listen } from './listen.ts';
import { prepareFolders } from './folders.ts';
import { log } from './log.ts';
import { randomHex } from './random.ts';

/** Stopping and killing what runs takes some milliseconds; nobody may wait long for us to end. */
const killsTakeMs = 250;
/** What a process ended by SIGTERM is said to exit with. */
const terminatedExitCode = 143;

async function main(): Promise<void> {
  // Node's own names for a process: a policy that stops its server by `pkill node` or `pkill MainThread` does not mean this one.
  process.title = 'sandboxd';
  const config = readConfig(process.env, process.getuid?.() ?? 0, process.cwd());
  const boot = randomHex(12);
  const env = imageEnvironment(process.env, config);
  const daemon = createDaemon(config, env, boot, {
    end: (exitCode) => process.exit(exitCode),
    // Most sandboxes get a rollout before they have rehearsed, and do not need this code.
    rehearse: async (played) => (await import('./rehearsal.ts')).rehearse(played),
  });
  // As pid 1 we would otherwise not even notice these.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      daemon.journal.abandon();
      setTimeout(() => daemon.end(terminatedExitCode), killsTakeMs);
    });
  }
  prepareFolders(config);
  await listen(createHttpServer(daemon), config.listen);
  log({ level: 'info', message: 'listening', sandbox: config.sandbox, boot });
}

void main().catch((error: unknown) => {
  log({ level: 'error', message: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
