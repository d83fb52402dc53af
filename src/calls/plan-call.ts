import type { ResolvedRollout } from '../claiming/resolve-rollout.ts';
import { Failure } from '../failure/failure.ts';
import { type Environment, hasSessions, type Tool } from '../model/environment.ts';
import type { Face } from '../model/face.ts';
import type { CallId } from '../model/ids.ts';
import type { Timings } from '../model/timings.ts';
import { keepsCalls } from '../model/grader-leaves.ts';
import type { Written } from '../model/written.ts';
import { longestCommandMs } from '../protocol/native/calls.ts';
import type { KeptText } from '../ports/fleet/calls.ts';
import { followTool } from '../protocol/sandboxd/terminals.ts';
import {
  type CallRequest,
  type Content,
  maxKeptBytes,
  mostAnsweredBytes,
} from '../protocol/sandboxd/wire.ts';
import { actionOf } from '../tools/action.ts';
import { type Arguments, argumentsOf, checkArguments, callDigest } from '../tools/arguments.ts';
import { fillText } from '../tools/render-output.ts';
import { noneFailed } from '../waiting/retries.ts';
import { keptArguments } from './kept-texts.ts';
import type { Todo, Tracked, Work } from './work.ts';

export type CommandBounds = Pick<Timings, 'longestRftCommandMs'>;

/** On the RFT face one request holds both the wait and the command; on the others requests can be repeated. */
function longestOnFace(face: Face, { longestRftCommandMs }: CommandBounds): number {
  return face === 'rft' ? longestRftCommandMs : longestCommandMs;
}
const defaultCommandMs = 120_000;
/** Of what was asked for, in the event log. */
const commandCharacters = 200;
/** The longest name that a tool may have; what the model made up is cut to it wherever it is kept or told. */
const longestToolName = 64;

export type ToolCall = {
  readonly call: CallId;
  readonly tool: string;
  /** Whose word the tool's name is: the address that the training job was given, or a body, where the model's may stand. */
  readonly namedBy: 'job' | 'model';
  readonly arguments: Written;
  readonly timeoutMs: number | null;
  /** Its trainer marked it as set-up. */
  readonly setup?: boolean;
};

/**
 * A call of a tool of the environment. What the model got wrong (arguments, and the tool's name where it chooses that)
 * becomes a refusal that it can read. Throws `tool_not_configured` where the job's own configuration names the tool, and
 * `invalid_request` for set-up that the tool refuses: no model wrote it.
 */
export function planToolCall(rollout: ResolvedRollout, asked: ToolCall, timings: CommandBounds): Work {
  const tool = toolOf(rollout.environment, asked.tool);
  if (tool === undefined && asked.namedBy === 'job') throw notConfigured(rollout.environment, asked.tool);
  const name = asked.tool.slice(0, longestToolName).toWellFormed();
  const parsed = argumentsOf(asked.arguments);
  const digest = callDigest(asked.tool, digestible(asked.arguments), parsed);
  const { setup = false } = asked;
  const todo =
    tool === undefined
      ? unknownTool(rollout.environment, name)
      : toolTodo(rollout, tool, digest, asked, parsed, timings);
  if (setup && todo.kind === 'refuse')
    throw new Failure('invalid_request', `the set-up call ${asked.call} is refused: ${todo.text}`);
  return {
    ...trackedCall(rollout, asked.call, name, digest, setup),
    // Whatever the model calls its tool, `exec` too.
    counted: true,
    command: shortened(asked.arguments),
    said: saidOf(rollout, asked.arguments),
    todo,
  };
}

/** Its own tools only: every object has a `constructor` too. */
function toolOf({ tools }: Pick<Environment, 'tools'>, name: string): Tool | undefined {
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** What was too long to be kept all counts as one: nothing runs for it. */
const digestible = (written: Written): string => (typeof written === 'string' ? written : 'too long');

export type Exec = {
  readonly call: CallId;
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Content;
  /** `argv` is `sh -c` and a text of the caller's, which bash runs if the image has bash. */
  readonly preferBash?: true;
  /** stderr comes in stdout, in the order of writing. */
  readonly merge?: true;
  /** The answer has bytes in place of texts. */
  readonly binary?: true;
  /** Its output is read while it runs; the answer has bytes then, so that its offsets are those of what was read. */
  readonly stream?: true;
  /** stdin stays open after what it is given here. */
  readonly openStdin?: true;
  /** In place of `argv`: what this terminal prints, as a stream. */
  readonly terminal?: number;
  /** Whose id it must run under; commands have one, which the environment chose. */
  readonly user?: 'policy' | 'root';
  /** Kept of each stream; without it as of the environment's tools. */
  readonly maxOutputBytes?: number;
  readonly timeoutMs: number | null;
  /** At its timeout its tree is killed without a word before: whoever asks has no time for a grace. */
  readonly killAtOnce?: boolean;
  /** Its trainer marked it as set-up. */
  readonly setup?: boolean;
};

/**
 * A command of the trainer's own: not a tool of the model, so its budget does not count it. Throws `invalid_request` where it
 * must run as root and the environment's commands do not: a command that looks as if it had worked would be worse. A terminal is
 * followed in the same way, if the environment has terminals.
 */
export function planExec(rollout: ResolvedRollout, asked: Exec, timings: CommandBounds): Work {
  const { call, timeoutMs, killAtOnce = false, user = 'policy', setup = false, ...command } = asked;
  const { preferBash, maxOutputBytes, stream, binary = stream, ...exec } = command;
  if (user === 'root' && rollout.environment.template.runAs !== 'root') throw notRoot(rollout.environment);
  if (exec.terminal !== undefined && !hasSessions(rollout.environment, 'terminal'))
    throw noTerminals(rollout.environment);
  const answered = { ...(binary && { binary }), ...(stream && { stream }) };
  const bounded = maxOutputBytes === undefined ? {} : { maxOutputBytes };
  const digest = callDigest('exec', { ...exec, ...bounded, ...answered });
  // Not part of the digest: a gateway of another version may send the same call again.
  const action = execAction(exec, preferBash);
  const todo = runTodo(rollout, digest, 'exec', action, timeoutMs ?? defaultCommandMs, timings);
  return {
    ...trackedCall(rollout, call, 'exec', digest, setup),
    command: JSON.stringify(exec.terminal === undefined ? exec.argv : exec).slice(0, commandCharacters),
    said: saidOf(rollout, JSON.stringify(exec)),
    todo: {
      ...todo,
      request: {
        ...todo.request,
        ...outputKept(maxOutputBytes),
        ...answered,
        ...(killAtOnce && { killAtOnce }),
      },
    },
  };
}

function execAction(
  { terminal, ...exec }: Pick<Exec, 'argv' | 'terminal' | 'cwd' | 'env' | 'stdin' | 'merge' | 'openStdin'>,
  preferBash: true | undefined,
): CallRequest['action'] {
  if (terminal !== undefined) return { kind: 'builtin', tool: followTool, arguments: { terminal } };
  return { kind: 'exec', ...exec, ...(preferBash && { preferBash }) };
}

/** An answer carries at most the first of these; the sandbox keeps the rest. */
function outputKept(bytes: number | undefined): Partial<Pick<CallRequest, 'keepBytes' | 'outputBytes'>> {
  if (bytes === undefined) return {};
  return bytes <= mostAnsweredBytes
    ? { keepBytes: bytes }
    : { keepBytes: mostAnsweredBytes, outputBytes: bytes };
}

/** A call of a rollout as far as judging and recording it goes; its tool's name says the rest. */
export function trackedCall(
  rollout: Pick<ResolvedRollout, 'key' | 'claim' | 'environment' | 'known' | 'keyId'>,
  call: CallId,
  tool: string,
  digest: string,
  setup = false,
): Tracked {
  const { key, claim, environment, known, keyId } = rollout;
  const run = toolOf(environment, tool)?.run;
  return {
    key,
    claim,
    environment,
    call,
    tool,
    digest,
    known,
    keyId,
    counted: tool !== 'exec',
    setup,
    swaps: noneFailed(),
    keepStreams: claim.face !== 'rft',
    dependency: (run?.kind === 'command' ? run.dependency : null) ?? null,
    isQuery: run?.kind === 'index',
    command: '',
    said: null,
  };
}

function saidOf({ environment }: Pick<ResolvedRollout, 'environment'>, written: Written): KeptText | null {
  return keepsCalls(environment) ? keptArguments(written) : null;
}

function toolTodo(
  rollout: ResolvedRollout,
  tool: Tool,
  digest: string,
  asked: ToolCall,
  parsed: Arguments,
  timings: CommandBounds,
): Todo {
  const checked = parsed.ok ? checkArguments(tool, parsed.value) : parsed;
  if (!checked.ok) return badArguments(rollout.environment, checked.reason);
  const action = actionOf(tool, checked.value, rollout.exposed);
  const askedMs = asked.timeoutMs ?? tool.timeoutMs;
  const todo = runTodo(rollout, digest, asked.tool, action, askedMs, timings);
  return { ...todo, request: { ...todo.request, ...overtimeOf(todo.request, tool) } };
}

/** A harness may let the model choose a timeout. After the rollout's time a call runs no longer than its tool would. */
function overtimeOf({ timeoutMs }: CallRequest, tool: Tool): Pick<CallRequest, 'overtimeMs'> {
  return timeoutMs > tool.timeoutMs ? { overtimeMs: tool.timeoutMs } : {};
}

function runTodo(
  rollout: ResolvedRollout,
  digest: string,
  label: string,
  action: CallRequest['action'],
  askedMs: number,
  timings: CommandBounds,
): Extract<Todo, { readonly kind: 'run' }> {
  const timeoutMs = Math.min(askedMs, longestOnFace(rollout.claim.face, timings));
  const keepBytes = Math.min(rollout.environment.limits.outputBytes, maxKeptBytes);
  return { kind: 'run', request: { digest, action, timeoutMs, keepBytes, label } };
}

function shortened(written: Written): string {
  return typeof written === 'string'
    ? written.slice(0, commandCharacters)
    : `${written.tooLongBytes} bytes of arguments`;
}

/** Of a reason, which may name what the model wrote: a name that fills the answer helps nobody. */
const longestReason = 500;

function badArguments(environment: Environment, reason: string): Todo {
  return {
    kind: 'refuse',
    code: 'bad_arguments',
    text: fillText(environment.texts.badArguments, { reason: reason.slice(0, longestReason).toWellFormed() }),
  };
}

function unknownTool(environment: Environment, tool: string): Todo {
  const tools = Object.keys(environment.tools).join(', ');
  return {
    kind: 'refuse',
    code: 'unknown_tool',
    text: fillText(environment.texts.unknownTool, { tool, tools }),
  };
}

function notRoot({ name }: Environment): Failure {
  return new Failure(
    'invalid_request',
    `commands of environment ${name} do not run as root: its sandbox needs run_as: root, or leave user out`,
    // A harness may let the model choose the user: its clients must not take that for the job's mistake.
    { evidence: { user: 'root' } },
  );
}

function noTerminals({ name }: Environment): Failure {
  return new Failure(
    'invalid_request',
    `environment ${name} has no terminals: it needs sessions: [terminal]`,
    // Clients take a refusal without evidence for that of a gateway that does not have the address.
    { evidence: { environment: name } },
  );
}

function notConfigured(environment: Environment, tool: string): Failure {
  const tools = Object.keys(environment.tools).join(', ');
  const shown = tool.slice(0, longestToolName);
  return new Failure(
    'tool_not_configured',
    `environment ${environment.name} has no tool ${shown}; it has: ${tools}`,
  );
}
