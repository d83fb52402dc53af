import { fileURLToPath } from 'node:url';
import { payloadEntry, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import type { ProcessSpec } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { makeGraderFolder } from '../folders.ts';
import { nativeProgram, type ProcessRole, processUser } from '../users.ts';

export type HelperRole = Exclude<ProcessRole, 'reader'>;

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
  user: HelperRole,
  request: readonly string[],
): Omit<ProcessSpec, 'stdin'> {
  const { node, script } = helperOf(config);
  return {
    argv: [...node, ...helperFlags, script, folderOf(config, user), ...request],
    cwd: '/',
    env: {},
    user: processUser(config, user),
    isInternal: true,
  };
}

/** Where relative paths of this user begin. */
export function folderOf(config: Config, user: HelperRole): string {
  if (user === 'queries') return '/';
  return user === 'grader' ? makeGraderFolder(config, 'own') : config.workspace;
}

/** All files that it is made of, the program that starts it, and the reader: a user who can read these can start it. */
export function helperFiles(config: Config): readonly string[] {
  const { node, script } = helperOf(config);
  const native = [processUser(config, 'policy').enter, nativeProgram(config, 'reader')];
  return [...native, ...node, script].filter((word) => word.startsWith('/'));
}

/** Of the payload, or of the sources that we run from ourselves. */
function helperOf({ payload }: Config): { readonly node: readonly string[]; readonly script: string } {
  if (payload !== null) return { node: payloadNodeArgv(payload), script: payloadEntry(payload, 'helper') };
  return { node: [process.execPath], script: fileURLToPath(new URL('./main.ts', import.meta.url)) };
}
