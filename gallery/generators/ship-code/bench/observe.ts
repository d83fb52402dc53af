import { spawn } from 'node:child_process';

/** What the assertions of each test saw, sorted: tests may run at the same time. */
export type Seen = Readonly<Record<string, readonly string[]>>;

const mark = '@seen ';

export function seenIn(output: string): Seen {
  const seen = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const record = line.startsWith(mark) ? recordIn(line.slice(mark.length)) : null;
    if (record === null) continue;
    const [name, ...what] = record;
    seen.set(name, [...(seen.get(name) ?? []), what.join(' ')]);
  }
  return Object.fromEntries([...seen].map(([name, all]) => [name, all.toSorted()]));
}

function recordIn(json: string): readonly [string, string, string] | null {
  try {
    const parsed: unknown = JSON.parse(json);
    if (!Array.isArray(parsed)) return null;
    return [String(parsed[0]), String(parsed[1]), String(parsed[2])];
  } catch {
    return null;
  }
}

/** Runs a program to its end, or for a minute. */
export async function observe([program = '', ...args]: readonly string[], cwd: string): Promise<Seen> {
  const child = spawn(program, args, {
    cwd,
    timeout: 60_000,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.on('close', () => resolve());
  child.on('error', reject);
  await promise;
  return seenIn(Buffer.concat(pieces).toString());
}
