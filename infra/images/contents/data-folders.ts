import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { repository } from '#infra/payload/repository.ts';
import type { Entry } from '../oci/tar.ts';
import { tree } from './tree.ts';

type WithData = {
  readonly sandbox: { readonly data?: readonly { readonly source?: string; readonly target: string }[] };
};

/** Folders that an environment of the gallery mounts from this machine, as a pod's image has to bring them along. */
export async function dataFolders(environmentFile: string): Promise<readonly Entry[]> {
  const { sandbox } = parse(await readFile(join(repository, environmentFile), 'utf8')) as WithData;
  const folders = (sandbox.data ?? []).map(async ({ source, target }) =>
    source === undefined ? [] : tree(join(repository, dirname(environmentFile), source), target.slice(1)),
  );
  return (await Promise.all(folders)).flat();
}
