import { readTar } from '#src/protocol/sandboxd/tar.ts';
import type { Play } from './probes.ts';

/** How one command ended. */
export type Outcome = {
  readonly exit: number | null;
  readonly timedOut: boolean;
  readonly stdout: string;
  readonly stderr: string;
};

/** The names in a tar, sorted, as `tar --list` prints them. */
export async function listTar(bytes: Buffer): Promise<string> {
  const names: string[] = [];
  for await (const { path } of readTar(new Blob([new Uint8Array(bytes)]).stream()))
    names.push(path.replace(/^\.\//, ''));
  return names
    .filter((name) => name !== '')
    .toSorted()
    .join('\n');
}

/** Host names and addresses differ between any two runs. */
export function withoutNames(outcome: Outcome, host: string): Outcome {
  const clean = (text: string) => {
    const named = host === '' ? text : text.replaceAll(host, '<host>');
    return named.replaceAll(/0x[0-9a-f]{6,}/g, '<address>');
  };
  return { ...outcome, stdout: clean(outcome.stdout), stderr: clean(outcome.stderr) };
}

/** What is compared of the outcomes. A grader's stdout and the stderr of `as-policy` are kept nowhere. */
export function comparedOf({ probe, face }: Play, outcomes: readonly Outcome[]): readonly Partial<Outcome>[] {
  return outcomes.map(({ exit, timedOut, stdout, stderr }) => {
    const end = { exit, timedOut };
    if (face === 'grader') return { ...end, stderr };
    if (probe.compare === 'exit') return end;
    return probe.compare === 'stdout' || face === 'as-policy'
      ? { ...end, stdout }
      : { ...end, stdout, stderr };
  });
}
