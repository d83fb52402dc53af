import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { EnvironmentMistakes } from '#src/environments/mistakes.ts';

/** A temporary folder with these files (path → text); it goes when the test gives it back with `await using`. */
export async function environmentFolder(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), 'corral-environments-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** The mistakes that loading found, one `file:line path message` each, without the folder. Fails when there are none. */
export async function mistakesOf(folder: string, loading: Promise<unknown>): Promise<readonly string[]> {
  const thrown: unknown = await loading.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof EnvironmentMistakes)) throw new Error('no mistakes were found', { cause: thrown });
  return thrown.mistakes.map(
    ({ file, line, path, message }) => `${file.replace(`${folder}/`, '')}:${line} ${path} ${message}`,
  );
}
