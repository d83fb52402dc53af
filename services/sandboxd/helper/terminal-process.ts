import { fileURLToPath } from 'node:url';
import { payloadEntry, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import type { TerminalRequest } from '#src/protocol/sandboxd/terminals.ts';
import type { BuiltinAction } from '#src/protocol/sandboxd/wire.ts';
import type { ProcessSpec } from '../command/spawn-as.ts';
import type { Config } from '../config.ts';
import { nativeProgram, processUser } from '../users.ts';
import { helperProcess } from './helper-process.ts';

type TerminalProcess = Omit<ProcessSpec, 'stdin'> & { readonly stdin: string | undefined };

/**
 * The client of a terminal's tool. What it starts is the policy's: it has the priority, the limits and the streams of a command. Its own
 * environment is empty as that of a helper, and the terminal's is part of the request.
 */
export function terminalClient(
  config: Config,
  env: TerminalRequest['env'],
  { tool, arguments: values }: BuiltinAction,
): TerminalProcess {
  const request: TerminalRequest = { tool, arguments: values, env, cwd: config.workspace };
  const words = ['terminal', socketPath(config), nativeProgram(config, 'pty'), ...serverArgv(config)];
  return {
    ...helperProcess(config, 'policy', words),
    isInternal: false,
    stdin: JSON.stringify(request),
  };
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
