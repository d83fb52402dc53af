import { Failure } from '#src/failure/failure.ts';
import { createStartLine, type StartLine } from '../sandbox/start-line.ts';

/** Runs it when it is its registry's turn; null: an archive. */
export type Turns = <Result>(
  registry: string | null,
  signal: AbortSignal,
  run: () => Promise<Result>,
) => Promise<Result>;

/** How many run at once. */
export type AtOnce = { readonly ofOne: number; readonly ofAll: number };

type OwnLine = { readonly line: StartLine; users: number };

/** Each registry has a line of its own, before that of all: however many wait for one that is slow, another one is next after it. */
export function createTurns({ ofOne, ofAll }: AtOnce): Turns {
  const all = createStartLine(ofAll, Infinity);
  const lines = new Map<string | null, OwnLine>();
  return async (registry, signal, run) => {
    const own = lines.get(registry) ?? { line: createStartLine(ofOne, Infinity), users: 0 };
    lines.set(registry, own);
    own.users += 1;
    try {
      return await inTurn(own.line, signal, () => inTurn(all, signal, run));
    } finally {
      own.users -= 1;
      // Rows can name any number of registries.
      if (own.users === 0) lines.delete(registry);
    }
  };
}

async function inTurn<Result>(
  line: StartLine,
  signal: AbortSignal,
  run: () => Promise<Result>,
): Promise<Result> {
  const leave = await line.enter(signal);
  if (leave === null) throw new Failure('provider_unavailable', 'this node is stopping');
  try {
    return await run();
  } finally {
    leave();
  }
}
