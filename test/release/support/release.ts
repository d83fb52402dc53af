import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The release that `publish-here.ts` built, and the registries that have it. */
export type Release = {
  readonly version: string;
  readonly outDir: string;
  /** Host and path of the images. */
  readonly registry: string;
  /** The folder in which the image registry stores them. */
  readonly storage: string;
  readonly npmUrl: string;
  readonly pythonUrl: string;
};

/** The variable in which `main.ts` gives the release to the tests. */
export const releaseVariable = 'CORRAL_RELEASE_UNDER_TEST';

export function release(): Release {
  const text = process.env[releaseVariable];
  if (text === undefined) throw new Error('run these tests with `npm run test:release`');
  return JSON.parse(text) as Release;
}

export const readChecksums = (outDir: string): Promise<string> =>
  readFile(join(outDir, 'SHA256SUMS'), 'utf8');
