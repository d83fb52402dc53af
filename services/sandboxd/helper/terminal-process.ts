import { fileURLToPath } from 'node:url';
import { payloadEntry, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { chromiumPath, isBrowserTool } from '#src/protocol/sandboxd/browser.ts';
import {
  longestTerminalWaitS,
  showTool,
  type TerminalRequest,
  usualTerminalWaitS,
} from '#src/protocol/sandboxd/terminals.ts';
import type { BuiltinAction } from '#src/protocol/sandboxd/wire.ts';
import type { ProcessSpec } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { nativeProgram, processUser } from '../users.ts';

type TerminalProcess = Omit<ProcessSpec, 'stdin'> & { readonly stdin: string | undefined };

/** Beyond the wait that a call asks for. With the longest wait it is shorter than the tools' timeout. */
const answerGraceS = 20;

/**
 * What asks for a call of a session's tool, or follows a terminal: `ask-terminals` of `infra/payload/native`, in a process of the policy's,
 * with the priority, the limits and the streams of a command. If no server listens it starts one; that of terminals only for an open. Its
 * own environment is the request, and that of a program in a terminal is part of it.
 */
export function sessionClient(
  config: Config,
  env: TerminalRequest['env'],
  { tool, arguments: values }: BuiltinAction,
): TerminalProcess {
  const request: TerminalRequest = { tool, arguments: values, env, cwd: config.workspace };
  const [socket, server] = isBrowserTool(tool) ? browserServer(config) : terminalServer(config);
  const starts = isBrowserTool(tool) || tool === 'terminal_open';
  const words = [socket, String(waitS(values) + answerGraceS), ...(starts ? server : [])];
  return {
    argv: [nativeProgram(config, 'ask-terminals'), ...words],
    cwd: '/',
    user: processUser(config, 'policy'),
    ...given(request),
  };
}

/** The path of a server's socket, and the argv that starts the server. */
type Server = readonly [socket: string, argv: readonly string[]];

/** Memory for 16 terminals with all that they may hold. What a program makes of its screen beyond it ends only the server. */
function terminalServer(config: Config): Server {
  const socket = socketPath(config);
  return [socket, [...serverArgv(config, 'terminals', 96), socket, nativeProgram(config, 'pty')]];
}

/** Memory for the longest answer of a browser, as text and as objects. */
function browserServer(config: Config): Server {
  const socket = `/tmp/.corral-browser-${config.sandbox}/socket`;
  return [socket, [...serverArgv(config, 'browser', 256), socket]];
}

/** Of a variable, in the kernel: 128 KiB with its name. */
const longestVariableBytes = 100_000;

/** A request that fits is a variable: a stream of its own is two more turns of a busy machine. */
function given(request: TerminalRequest): Pick<TerminalProcess, 'env' | 'stdin'> {
  const text = JSON.stringify(request);
  return Buffer.byteLength(text) <= longestVariableBytes
    ? { env: { REQUEST: text }, stdin: undefined }
    : { env: {}, stdin: text };
}

/** Shows a screen to an operator, as an internal process that the policy's processes neither make room for nor wait behind. */
export function screenClient(config: Config, terminal: number | null): TerminalProcess {
  const values = terminal === null ? {} : { terminal };
  const request: TerminalRequest = { tool: showTool, arguments: values, env: {}, cwd: '/' };
  return {
    argv: [nativeProgram(config, 'ask-terminals'), socketPath(config), String(screenWithinS)],
    cwd: '/',
    user: { ...processUser(config, 'policy'), takesRoomOf: null },
    isInternal: true,
    ...given(request),
  };
}

/** An operator looks again soon. */
const screenWithinS = 5;

/** Only the server checks what a request asks for. */
function waitS({ timeout_s: asked = usualTerminalWaitS }: BuiltinAction['arguments']): number {
  const seconds = Math.ceil(Number(asked));
  return seconds > 0 ? Math.min(seconds, longestTerminalWaitS) : 0;
}

/** Ends with 0 if a program can have a terminal here. */
export function terminalCheck(config: Config): TerminalProcess {
  const argv = [nativeProgram(config, 'pty'), '24', '80', '/bin/sh', '-c', ':'];
  return { argv, cwd: '/', env: {}, user: processUser(config, 'policy'), stdin: undefined };
}

/** Ends with 0 if the image has a Chromium that starts, with all of its libraries. */
export function browserCheck(config: Config): TerminalProcess {
  const argv = [chromiumPath, '--version'];
  return { argv, cwd: '/', env: {}, user: processUser(config, 'policy'), stdin: undefined };
}

/** `sandbox`: where sandboxes share a /tmp, as in tests. */
const socketPath = ({ sandbox }: Config): string => `/tmp/.corral-terminals-${sandbox}/socket`;

/** Of the payload, or of the sources that this process runs from. */
function serverArgv(
  { payload }: Config,
  entry: 'terminals' | 'browser',
  mebibytes: number,
): readonly string[] {
  const flags = [...serverFlags, `--max-old-space-size=${mebibytes}`];
  if (payload !== null) return [...payloadNodeArgv(payload), ...flags, payloadEntry(payload, entry)];
  const source = fileURLToPath(new URL(`../../${entry}/main.ts`, import.meta.url));
  return [process.execPath, ...flags, source];
}

const serverFlags = ['--no-warnings', '--max-semi-space-size=1', '--v8-pool-size=0'];
