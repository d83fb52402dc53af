import { fileURLToPath } from 'node:url';
import type { CommandUser } from '../../../src/protocol/sandboxd/wire.ts';
import { payloadNodeArgv } from '../../../src/protocol/sandboxd/payload-layout.ts';
import type { ProcessSpec } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { processUser } from '../users.ts';

/** Beside us, compiled or not. */
const helperScript = fileURLToPath(new URL(`./main${import.meta.url.slice(-3)}`, import.meta.url));

/**
 * The least that Node needs, since a helper lives for milliseconds beside the policy's own work: a small heap, and no
 * warnings on a stderr that the model reads.
 */
const helperFlags = ['--no-warnings', '--max-semi-space-size=1', '--v8-pool-size=0'];

/**
 * A fresh helper process for one request. It is the command's user and so can open what that user can, and nothing of
 * sandboxd's. It gets none of the image's environment: `NODE_OPTIONS` and the like there are for the task's programs.
 */
export function helperProcess(
  config: Config,
  user: CommandUser,
  request: readonly string[],
): Omit<ProcessSpec, 'stdin'> {
  const node = config.payload === null ? [process.execPath] : payloadNodeArgv(config.payload);
  return {
    argv: [...node, ...helperFlags, helperScript, config.workspace, ...request],
    cwd: '/',
    env: {},
    user: processUser(config, user),
  };
}
