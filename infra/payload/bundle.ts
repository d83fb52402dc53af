import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { PayloadEntry } from '#src/protocol/sandboxd/payload-layout.ts';
import { repository } from './repository.ts';

const sourceOf: Readonly<Record<PayloadEntry, string>> = {
  main: 'services/sandboxd/main.ts',
  helper: 'services/sandboxd/helper/main.ts',
  terminals: 'services/terminals/main.ts',
  browser: 'services/browser/main.ts',
};

/**
 * Bundles sandboxd, its helper and the servers of sessions into plain JavaScript: a start that reads fifty modules takes a third more of a core
 * than one that reads one. What is imported late stays in files of its own. Throws with the bundler's own words.
 *
 * Into CommonJS, because an ES `import` of one of Node's own modules reads every export of it, and reading some of them
 * loads much more (an HTTP client, WebCrypto, readline): a fifth of a start, and half of what an idle sandbox may take.
 *
 * Each by itself and without white space: what two of them share would be a file of its own, which each start then looks for
 * and reads, and comments are read by V8 at each start too.
 */
export async function bundleSandboxd(outDir: string): Promise<void> {
  for (const [entry, source] of Object.entries(sourceOf)) {
    await bundleOne(entry, join(repository, source), outDir);
  }
}

async function bundleOne(entry: string, source: string, outDir: string): Promise<void> {
  const bundle = await rolldown({ input: { [entry]: source }, platform: 'node', logLevel: 'silent' });
  try {
    await bundle.write({
      dir: outDir,
      format: 'cjs',
      entryFileNames: '[name].cjs',
      chunkFileNames: `${entry}-[name].cjs`,
      // Names stay: they are what a stack trace in the container's log has to say.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    });
  } finally {
    await bundle.close();
  }
}
