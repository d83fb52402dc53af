import { runCommandLine } from '#cli/program.ts';

export type CommandRun = { readonly exitCode: number; readonly printed: string; readonly said: string };

/** One command of `corral`, in this process, for `width` columns: what it printed as its result, and what it remarked. */
export async function runCorral(args: readonly string[], width = Infinity): Promise<CommandRun> {
  const results: string[] = [];
  const remarks: string[] = [];
  const exitCode = await runCommandLine(args, {
    result: (text) => void results.push(text),
    remark: (text) => void remarks.push(text),
    width,
  });
  return { exitCode, printed: results.join('\n'), said: remarks.join('\n') };
}
