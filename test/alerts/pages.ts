import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Release } from '../support/release.ts';
import { sandboxesOf } from './fleet.ts';

/* What the pages of alerts tell somebody to look at first. */

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/runbooks');

/** Of all pages, each once: lines of their `sh` blocks, and their queries. */
export async function commandsOfPages() {
  const pages = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  const blocks = (language: string) =>
    pages.flatMap((page) =>
      [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(
        ([, text = '']) => text,
      ),
    );
  return {
    lines: [...new Set(blocks('sh').flatMap((block) => block.trim().split('\n')))],
    queries: [...new Set(blocks('promql').map((query) => query.trim()))],
  };
}

/** Runs the lines one after another, as they are shown, at this fleet; what went wrong, with what was said. */
export async function wentWrong(corral: Release, lines: readonly string[]): Promise<readonly string[]> {
  const cwd = await mkdtemp(join(tmpdir(), 'corral-pages-'));
  const env = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${process.env['PATH'] ?? ''}`,
    FLEET: corral.name,
    NAMESPACE: corral.namespace,
    SANDBOXES: sandboxesOf(corral),
    CORRAL_URL: corral.gatewayUrl,
    CORRAL_KEY: corral.apiKey,
  };
  const wrong: string[] = [];
  try {
    for (const line of lines) {
      const said = await new Promise<string | null>((resolve) => {
        execFile('sh', ['-euc', line], { cwd, env, timeout: 60_000 }, (error, stdout, stderr) =>
          resolve(error === null ? null : `${line}\n${stdout}${stderr}`),
        );
      });
      if (said !== null) wrong.push(said);
    }
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
  return wrong;
}
