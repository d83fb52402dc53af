import { spawnSync } from 'node:child_process';

/** How a program ended. */
export type Ended = {
  readonly exitCode: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
};

/** The machine lacks a program, or runs it wrongly: no kernel is the cause, so no kernel gets a score for it. */
export class MachineFault extends Error {}

/** As whom programs run that touch what the policy wrote. */
export type AsWhom = readonly string[];
export const asItself: AsWhom = [];
export const asPolicy: AsWhom = ['as-policy', '--stdin', '--timeout', '60'];

const mostBytes = 64 * 1024 * 1024;

export function runProgram(
  [program = '', ...args]: readonly string[],
  { input = '', timeoutS = 60 }: { readonly input?: string | Uint8Array; readonly timeoutS?: number } = {},
): Ended {
  const { error, status, stdout, stderr } = spawnSync(program, args, {
    input,
    timeout: timeoutS * 1000,
    maxBuffer: mostBytes,
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new MachineFault(`this machine lacks ${program}`);
  return { exitCode: status, stdout, stderr: stderr.toString() };
}
