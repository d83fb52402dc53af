import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from './repository.ts';

const run = promisify(execFile);
/** It takes about two seconds; a machine on which it takes longer than this has other troubles. */
const compileTimeoutMs = 120_000;

/** Compiles sandboxd to plain JavaScript. Throws with the compiler's own words. */
export async function compileSandboxd(outDir: string): Promise<void> {
  const compiler = join(repository, 'node_modules/typescript/bin/tsc');
  const project = join(repository, 'infra/payload/tsconfig.json');
  const argv = [compiler, '-p', project, '--outDir', outDir];
  await run(process.execPath, argv, { timeout: compileTimeoutMs }).catch(
    (error: Error & { stdout?: string }) => {
      throw new Error(`sandboxd does not compile:\n${error.stdout ?? error.message}`);
    },
  );
  await writeFile(join(outDir, 'package.json'), '{"type":"module"}\n');
}
