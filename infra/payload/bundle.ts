import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { PayloadEntry } from '../../src/protocol/sandboxd/payload-layout.ts';
import { repository } from './repository.ts';

const sourceOf: Readonly<Record<PayloadEntry, string>> = {
  main: 'services/sandboxd/main.ts',
  helper: 'services/sandboxd/helper/main.ts',
  'spawn-watcher': 'services/sandboxd/command/spawn-watcher.ts',
};

/**
 * Bundles sandboxd, its helper and its watcher into plain JavaScript: a start that reads fifty modules takes a third more of a core
 * than one that reads one. What is imported late stays in files of its own. Throws with the bundler's own words.
 *
 * Into CommonJS, because an ES `import` of one of Node's own modules reads every export of it, and reading some of them
 * loads much more (an HTTP client, WebCrypto, readline): a fifth of a start, and half of what an idle sandbox may take.
 */
export async function bundleSandboxd(outDir: string): Promise<void> {
  const input = Object.fromEntries(
    Object.entries(sourceOf).map(([entry, source]) => [entry, join(repository, source)]),
  );
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  try {
    await bundle.write({
      dir: outDir,
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name].cjs',
    });
  } finally {
    await bundle.close();
  }
}
