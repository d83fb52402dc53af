import { fileURLToPath } from 'node:url';
import { payloadEntry, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
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
 * What asks for a call of a terminal's tool, or follows a terminal: `ask-terminals` of `infra/payload/native`, in a process of the policy's,
 * with the priority, the limits and the streams of a command. An open starts the server if no server listens. Its own environment is the
 * request, and that of a program in a terminal is part of it.
 */
export function terminalClient(
  config: Config,
  env: TerminalRequest['env'],
  { tool, arguments: values }: BuiltinAction,
): TerminalProcess {
  const request: TerminalRequest = { tool, arguments: values, env, cwd: config.workspace };
  const socket = socketPath(config);
  const server = [...serverArgv(config), socket, nativeProgram(config, 'pty')];
  const words = [socket, String(waitS(values) + answerGraceS), ...(tool === 'terminal_open' ? server : [])];
  return {
    argv: [nativeProgram(config, 'ask-terminals'), ...words],
    cwd: '/',
    user: processUser(config, 'policy'),
    ...given(request),
  };
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

/** `sandbox`: where sandboxes share a /tmp, as in tests. */
const socketPath = ({ sandbox }: Config): string => `/tmp/.corral-terminals-${sandbox}/socket`;

/** Memory for 16 terminals with all that they may hold. What a program makes of its screen beyond it ends only the server. */
const serverFlags = [
  '--no-warnings',
  '--max-semi-space-size=1',
  '--max-old-space-size=96',
  '--v8-pool-size=0',
];

/** Of the payload, or of the sources that this process runs from. */
function serverArgv({ payload }: Config): readonly string[] {
  if (payload !== null)
    return [...payloadNodeArgv(payload), ...serverFlags, payloadEntry(payload, 'terminals')];
  const source = fileURLToPath(new URL('../../terminals/main.ts', import.meta.url));
  return [process.execPath, ...serverFlags, source];
}
