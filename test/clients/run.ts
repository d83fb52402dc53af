import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export type Counts = { readonly passed: number; readonly failed: number };
/** `files`: those in which tests failed, for a run that plays them once more; null where what failed is no test. */
export type Played = Counts & { readonly files: readonly string[] | null };

/** What it prints is shown at once when it has ended, because several run at the same time. */
export async function run(
  program: string,
  argv: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<{ readonly ok: boolean; readonly printed: string }> {
  const child = spawn(program, argv, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'close').then(
    ([code]) => code === 0,
    () => false,
  );
  const [printed, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
  process.stdout.write(printed);
  process.stderr.write(complaints);
  return { ok: await ended, printed };
}
