import { resolve } from 'node:path';
import type { BuiltinAction, CallRequest, ExecAction, GradeTurn } from '#src/protocol/sandboxd/wire.ts';
import { followTool, isTerminalTool } from '#src/protocol/sandboxd/terminals.ts';
import { memoryFilesHere } from '#src/platform/memory-account.ts';
import { commandEnv, graderEnv } from '../command/command-env.ts';
import { cutCapture } from '../command/capture.ts';
import { pausesOf } from '../command/starvation.ts';
import { textArgv } from '../command/prefer-bash.ts';
import {
  type CommandResult,
  type CommandSpec,
  type LiveCommand,
  runCommand,
} from '../command/run-command.ts';
import type { Config } from '../config.ts';
import type { Grounds } from '../grading/as-policy.ts';
import type { Turns } from '../grading/turns.ts';
import { folderOf, helperProcess } from '../helper/helper-process.ts';
import { requireHelper } from '../helper/own-files.ts';
import { terminalCheck, terminalClient } from '../helper/terminal-process.ts';
import { processUser } from '../users.ts';
import type { Queries } from '../queries/queries.ts';
import { keptBytes, type Outputs, type RawAnswer } from './answer.ts';
import type { BackgroundTime } from './background-time.ts';
import { clockAtStart } from './call-clock.ts';
import type { StartCall } from './journal.ts';
import { type MemoryBetweenCalls, watchMemory } from './memory-watch.ts';
import { watchMirrors } from './mirror-watch.ts';
import { type NodeBetweenCalls, type NodeLook, watchNode } from './node-watch.ts';

/**
 * How calls become processes: a command as it is, a built-in tool as our helper, both under the command's user; a grade as
 * a turn of its own, whose code is loaded by the first.
 */
export function callStarter(
  deps: Deps,
  turns: Turns,
  outputs: Outputs,
  background: BackgroundTime,
): StartCall {
  const { config, betweenCalls, memoryBetweenCalls, lookAtNode } = deps;
  const queries = queriesOf(deps);
  const memory = memoryFilesHere(config.cgroupEvents);
  return async (callId, request, cancel, leftMs, live) => {
    const isBackgroundOver = !followsTerminal(request);
    if (isBackgroundOver) background.enter();
    if (isBackgroundOver) memoryBetweenCalls.enter();
    const backgroundMs = isFleetsOwn(callId) || !isBackgroundOver ? 0 : background.take();
    const watched = memory && watchMemory(memory);
    const beside = roomBeside(outputs, request);
    const whole = { ...request, keepBytes: Math.max(request.keepBytes, beside) };
    const node = watchNode(lookAtNode);
    const { mirrorTally } = config;
    const mirrors = mirrorTally === null ? null : await watchMirrors(mirrorTally, request);
    const carriedOut = carryOut(deps, whole, { turns, queries, leftMs, live }, cancel);
    const carried = await carriedOut.finally(() => {
      if (isBackgroundOver) background.leave();
      if (isBackgroundOver) memoryBetweenCalls.leave();
      node.end();
      watched?.end();
    });
    if (carried === 'late') {
      if (beside > 0) outputs.keep(callId, 2 * beside, null);
      background.giveBack(backgroundMs);
      return carried;
    }
    const { result, grade } = carried;
    const kills = memoryBetweenCalls.toldWith(watched?.kills() ?? null);
    const { ending, durationMs, escapedProcesses, backgroundProcesses } = result;
    const streams = kept(outputs, callId, request, beside, result);
    const evidence = {
      durationMs,
      outOfMemoryKills: kills?.count ?? null,
      ...(kills?.lackedBy == null ? {} : { memoryLackedBy: kills.lackedBy }),
      ...betweenCalls.found,
      ...(await node.found()),
      ...(await mirrors?.end()),
      escapedProcesses,
      backgroundProcesses,
      backgroundMs,
    };
    const graded = grade === undefined ? {} : { grade };
    const binary = request.binary === true ? { binary: true as const } : {};
    return { callId, ending, ...streams, evidence, ...binary, ...graded } satisfies RawAnswer;
  };
}

/** Setups and graders: ids of a rollout's calls have no space. */
const isFleetsOwn = (callId: string): boolean => callId.includes(' ');

/** Programs in a terminal work in the background while a trainer follows it, which may be all the time. */
const followsTerminal = ({ action }: CallRequest): boolean =>
  action.kind === 'builtin' && action.tool === followTool;

/** Bytes of each stream that may be kept beside the answer; 0 where nobody asks for more, or there is no room. */
function roomBeside(outputs: Outputs, { keepBytes, outputBytes = 0 }: CallRequest): number {
  return outputBytes > keepBytes && outputs.reserve(2 * outputBytes) ? outputBytes : 0;
}

/** What of the streams the answer carries; where there is more, it is kept beside. */
function kept(
  outputs: Outputs,
  callId: string,
  { keepBytes }: CallRequest,
  beside: number,
  { stdout, stderr }: CommandResult,
): Pick<RawAnswer, 'stdout' | 'stderr' | 'kept'> {
  if (beside === 0) return { stdout, stderr };
  const bytes = { stdout: keptBytes(stdout), stderr: keptBytes(stderr) };
  const isMore = Math.max(bytes.stdout, bytes.stderr) > keepBytes;
  outputs.keep(callId, 2 * beside, isMore ? { stdout, stderr } : null);
  if (!isMore) return { stdout, stderr };
  return { stdout: cutCapture(stdout, keepBytes), stderr: cutCapture(stderr, keepBytes), kept: bytes };
}

type Deps = Grounds & {
  /** Null: the sandbox shares nothing with others of its node. */
  readonly lookAtNode: NodeLook | null;
  readonly betweenCalls: NodeBetweenCalls;
  readonly memoryBetweenCalls: MemoryBetweenCalls;
  /** Until the sandbox ends itself; infinite before its bind. */
  readonly lifeLeftMs: () => number;
};

/** Where calls wait for one another, how long this one still may, and what follows it. */
type Places = {
  readonly turns: Turns;
  readonly queries: ReturnType<typeof queriesOf>;
  readonly leftMs: () => number;
  readonly live: LiveCommand | null;
};

async function carryOut(
  deps: Deps,
  request: CallRequest,
  { turns, queries, leftMs, live }: Places,
  cancel: AbortSignal,
): Promise<{ readonly result: CommandResult; readonly grade?: GradeTurn } | 'late'> {
  const { action, timeoutMs, maxPauseMs = 0, aroundMs = null, keepBytes, killAtOnce = false } = request;
  const { config, env, leaders, starvation, lifeLeftMs } = deps;
  const startClock = () => clockAtStart(request, { rolloutMs: leftMs(), lifeMs: lifeLeftMs() });
  if (action.kind === 'grade') {
    const { gradeTurn } = await import('../grading/turn.ts');
    const limits = { timeoutMs, maxPauseMs, aroundMs, keepBytes };
    return turns.take(action.turn, cancel, (stop) => gradeTurn(deps, action, limits, stop));
  }
  if (action.kind === 'query') {
    const result = await (await queries()).ask(action, { startClock, keepBytes }, cancel);
    return result === 'late' ? result : { result };
  }
  const exitsLikeShell = action.kind === 'exec' && action.user !== 'grader';
  const parts =
    action.kind === 'exec' ? execProcess(config, env, action) : builtinProcess(config, env, action);
  const clock = startClock();
  if (clock === null) return 'late';
  const time = { timeoutMs: clock.timeoutMs, ...pausesOf(starvation, clock) };
  const spec = { ...parts, ...time, keepBytes, killAtOnce, exitsLikeShell, live };
  const result = await runCommand(spec, leaders, cancel);
  return { result: action.kind === 'builtin' ? requireHelper(config, result) : result };
}

/** Made at the first query: most sandboxes never have one. */
function queriesOf(deps: Deps): () => Promise<Queries> {
  let made: Promise<Queries> | null = null;
  return () => (made ??= import('../queries/queries.ts').then(({ Queries }) => new Queries(deps)));
}

type ProcessParts = Omit<
  CommandSpec,
  'timeoutMs' | 'pauses' | 'keepBytes' | 'killAtOnce' | 'exitsLikeShell' | 'live'
>;

/** A command of the environment or the caller. */
export function execProcess(config: Config, env: NodeJS.ProcessEnv, action: ExecAction): ProcessParts {
  const user = action.user ?? 'policy';
  const folder = folderOf(config, user);
  const variables =
    user === 'grader' ? graderEnv(env, config, folder, action.env) : commandEnv(env, folder, action.env);
  const cwd = resolve(folder, action.cwd ?? '.');
  return {
    argv: textArgv(action, cwd, variables, config),
    cwd,
    env: variables,
    user: processUser(config, user),
    stdin: typeof action.stdin === 'object' ? Buffer.from(action.stdin.base64, 'base64') : action.stdin,
    merge: action.merge === true,
  };
}

function builtinProcess(config: Config, env: NodeJS.ProcessEnv, action: BuiltinAction): ProcessParts {
  const { tool, arguments: values } = action;
  if (tool === 'terminal_check') return terminalCheck(config);
  if (isTerminalTool(tool) || tool === followTool)
    return terminalClient(config, commandEnv(env, config.workspace, action.env), action);
  return { ...helperProcess(config, 'policy', ['tool', tool]), stdin: JSON.stringify(values) };
}
