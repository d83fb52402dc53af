import { serveJudges } from './judged-finance/judges/serve.ts';
import type { GalleryName } from './roster.ts';
import { serveStyleJudges } from './ship-code/judges/serve.ts';

const servers: Partial<Readonly<Record<GalleryName, () => Promise<AsyncDisposable>>>> = {
  'judged-finance': () => serveJudges(),
  'ship-code': serveStyleJudges,
};

/** Runs the judges that some environments ask. */
export async function serveAllJudges(names: readonly GalleryName[]): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  for (const name of names) {
    const server = await servers[name]?.();
    if (server !== undefined) stack.use(server);
  }
  return stack;
}
