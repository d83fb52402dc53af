import { once } from 'node:events';
import type { Ending, PrepareReply, PrepareRequest, ProbeDepth } from '#src/protocol/sandboxd/wire.ts';
import { execProcess } from './calls/start-call.ts';
import { monotonicMs } from './clock.ts';
import { type CommandResult, runCommand } from './command/run-command.ts';
import { NotStarted, spawnWhenAble } from './command/spawn-as.ts';
import type { Config } from './config.ts';
import type { Daemon } from './daemon.ts';
import { helperFiles } from './helper/helper-process.ts';
import { startHelper } from './helper/run.ts';
import { looksWell } from './look.ts';
import { killTree } from './processes/kill-tree.ts';
import { startReader } from './reading/reader.ts';
import { processUser } from './users.ts';
import { WireError } from './wire-error.ts';

/** Of each stream of a failing command, for the operator who reads why a template does not start. */
const keepBytes = 4096;

/** Runs a template's commands one after another, as the policy's user. Throws `prepare_failed` at the first that fails. */
export async function prepare(
  daemon: Daemon,
  request: PrepareRequest,
  gone: AbortSignal,
): Promise<PrepareReply> {
  const startMs = monotonicMs();
  for (const argv of request.commands) {
    const timeoutMs = Math.max(1, Math.ceil(startMs + request.timeoutMs - monotonicMs()));
    const parts = execProcess(daemon.config, daemon.env, { kind: 'exec', argv });
    const result = await runCommand({ ...parts, timeoutMs, keepBytes }, daemon.leaders, gone);
    if (result.ending.kind !== 'exited' || result.ending.exitCode !== 0) throw prepareFailed(argv, result);
  }
  return { ok: true, durationMs: Math.round(monotonicMs() - startMs) };
}

function prepareFailed(argv: readonly string[], { ending, stderr }: CommandResult): WireError {
  const said = (stderr.tail.length > 0 ? stderr.tail : stderr.head).toString('utf8').trim();
  const how = describeEnding(ending);
  const message = `prepare failed: ${JSON.stringify(argv)} ${how}${said === '' ? '' : `: ${said}`}`;
  const errno = ending.kind === 'not_started' ? ending.errno : undefined;
  const exitCode = ending.kind === 'exited' ? ending.exitCode : undefined;
  return new WireError('prepare_failed', message, errno, exitCode);
}

function describeEnding(ending: Ending): string {
  switch (ending.kind) {
    case 'exited':
      return `ended with exit code ${ending.exitCode}`;
    case 'signalled':
      return `was killed by ${ending.signal}`;
    case 'timed_out':
      return 'did not end before the start timeout';
    case 'cancelled':
      return 'was cancelled';
    case 'not_started':
      return `did not start: ${ending.message}`;
  }
}

/** Starting Node takes a tenth of a second; a sandbox in which it takes so long is not ready. */
const longestProbeMs = 20_000;
/** A shell takes a millisecond; the rest is for a burst, whose sandboxes all start at once. */
const longestOfShellMs = 5_000;

/** All that a helper is made of are its arguments. */
const looksAround = 'for file; do test -r "$file" || exit 1; done';
/** The workspace is `$0`. */
const looksAtWorkspaceToo = `test -w "$0" && test -x "$0" && ${looksAround}`;

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
  const script = config.workspaceFrom === 'image' ? looksAround : looksAtWorkspaceToo;
  const argv = ['/bin/sh', '-c', script, config.workspace, ...helperFiles(config)];
  const user = processUser(config, 'policy');
  try {
    const { child, pid } = await spawnWhenAble({
      argv,
      cwd: '/',
      env: {},
      user,
      stdin: 'nothing',
      isInternal: true,
    });
    const deadline = setTimeout(() => void killTree(pid), longestOfShellMs);
    const [code] = await once(child, 'exit').finally(() => clearTimeout(deadline));
    return code === 0;
  } catch (error) {
    if (error instanceof NotStarted) return false;
    throw error;
  }
}

/** Whether files can be read with the policy's rights: on a kernel that cannot give these, every grade with files would fail. */
async function probeReader(config: Config): Promise<void> {
  const reader = await startReader(config, 'policy', () => longestProbeMs);
  try {
    await reader.stat('/');
  } finally {
    reader.close();
  }
}

async function probeWhole(config: Config): Promise<void> {
  const helper = await startHelper(config, 'policy', ['probe', config.workspaceFrom], longestProbeMs);
  try {
    helper.process.stdout.resume();
    await helper.succeeded;
    await probeReader(config);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WireError('internal', `commands cannot work in this sandbox: ${reason}`);
  } finally {
    helper.release();
  }
}
