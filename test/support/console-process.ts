import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { bundleServices } from '#infra/services/bundle-services.ts';

export type ConsoleProcess = {
  readonly port: number;
  /** Resolves when it is gone. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
};

const Line = Type.Object({ message: Type.String(), port: Type.Optional(Type.Integer()) });

/** The console's program as it is shipped, with these variables and no others. Throws what it said if it does not start. */
export async function startConsoleProcess(
  env: Readonly<Record<string, string>>,
  program = 'console.mjs',
): Promise<ConsoleProcess> {
  const main = join((await bundleServices()).dir, program);
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  return {
    port: await portOf(child),
    end: async (signal) => {
      const isOver = once(child, 'exit');
      child.kill(signal);
      await isOver;
    },
  };
}

/** From the line that says that it has started. */
async function portOf({ stderr }: Pick<ChildProcess, 'stderr'>): Promise<number> {
  if (stderr === null) throw new Error('its output is not read');
  const said: string[] = [];
  const lines = createInterface({ input: stderr });
  for await (const line of lines) {
    said.push(line);
    const { message, port } = Value.Parse(Line, JSON.parse(line));
    if (message !== 'console started' || port === undefined) continue;
    // Nothing else is read of it, and a pipe that is full would hold it.
    stderr.resume();
    return port;
  }
  throw new Error(said.join('\n'));
}
