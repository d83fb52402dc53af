import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What `publish-here.ts` built, and the registries that have it. */
export type Release = {
  readonly version: string;
  readonly outDir: string;
  /** Host and path below which the images are. */
  readonly registry: string;
  /** Where the registry of images keeps them. */
  readonly storage: string;
  readonly npmUrl: string;
  readonly pythonUrl: string;
};

/** How `main.ts` tells the tests. */
export const releaseVariable = 'CORRAL_RELEASE_UNDER_TEST';

export function release(): Release {
  const text = process.env[releaseVariable];
  if (text === undefined) throw new Error('these tests are played by `npm run test:release`');
  return JSON.parse(text) as Release;
}

export const readChecksums = (outDir: string): Promise<string> =>
  readFile(join(outDir, 'SHA256SUMS'), 'utf8');
