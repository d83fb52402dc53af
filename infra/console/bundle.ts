import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { repository } from '../payload/repository.ts';

/** Where the console's service finds its page, next to its own code. */
const pageFolder = 'page';

/** Writes the page's script and style below `dir`. Throws with the bundler's own words. */
export async function bundlePage(dir: string): Promise<void> {
  const target = join(dir, pageFolder);
  await mkdir(target, { recursive: true });
  const bundle = await rolldown({
    input: join(repository, 'console/main.tsx'),
    cwd: repository,
    platform: 'browser',
    logLevel: 'silent',
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
  try {
    await bundle.write({ file: join(target, 'page.js'), format: 'esm', minify: true });
  } finally {
    await bundle.close();
  }
  await copyFile(join(repository, 'console/style.css'), join(target, 'page.css'));
}
