import { once } from 'node:events';
import type { ProbeDepth } from '#src/protocol/sandboxd/wire.ts';
import { NotStarted } from './command/spawn-as.ts';
import { spawnWhenAble } from './command/spawn-when-able.ts';
import type { Config } from './config.ts';
import { helperFiles } from './helper/helper-process.ts';
import { startHelper } from './helper/run.ts';
import { looksWell } from './look.ts';
import { killTree } from './processes/kill-tree.ts';
import { processUser } from './users.ts';
import { WireError } from './wire-error.ts';

/** Starting Node takes a tenth of a second; a sandbox in which it takes so long is not ready. */
const longestMs = 20_000;
/** A shell takes a millisecond; the rest is for a burst, whose sandboxes all start at once. */
const longestOfShellMs = 5_000;

/** The workspace is `$0`, and all that a helper is made of are its arguments. */
const looksAround = 'test -w "$0" && test -x "$0" && for file; do test -r "$file" || exit 1; done';

/**
 * Whether commands can work here: starts a no-op as the policy's user. A brief probe starts nothing where a look leaves no
 * doubt; else it lets the image's shell look as that user, which takes a tenth of what a helper takes. One that finds anything
 * amiss, or no shell, becomes a whole one, which decides and says why. Throws `internal`.
 */
export async function probe(config: Config, depth: ProbeDepth): Promise<void> {
  if (depth === 'brief' && (looksWell(config) || (await shellFindsAllWell(config)))) return;
  await probeWhole(config);
}

async function shellFindsAllWell(config: Config): Promise<boolean> {
  const argv = ['/bin/sh', '-c', looksAround, config.workspace, ...helperFiles(config)];
  const user = processUser(config, 'policy');
  try {
    const { child, pid } = await spawnWhenAble({ argv, cwd: '/', env: {}, user, stdin: 'nothing' });
    const deadline = setTimeout(() => void killTree(pid), longestOfShellMs);
    const [code] = await once(child, 'exit').finally(() => clearTimeout(deadline));
    return code === 0;
  } catch (error) {
    if (error instanceof NotStarted) return false;
    throw error;
  }
}

async function probeWhole(config: Config): Promise<void> {
  const helper = await startHelper(config, 'policy', ['probe'], longestMs);
  try {
    helper.process.stdout.resume();
    await helper.succeeded;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WireError('internal', `commands cannot work in this sandbox: ${reason}`);
  } finally {
    helper.release();
  }
}
