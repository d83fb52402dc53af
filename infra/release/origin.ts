import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../payload/repository.ts';

const run = promisify(execFile);

/** What a release is made from. */
export type Origin = {
  readonly version: string;
  /** The commit; with `-changed` if files differ from it. */
  readonly revision: string;
  /** When the commit was made, in seconds: everything in a release has this time. */
  readonly madeAtS: number;
};

export async function readOrigin(): Promise<Origin> {
  const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const [commit = '', seconds = ''] = (await git('log', '-1', '--format=%H %ct')).split(' ');
  const changes = await git('status', '--porcelain');
  return {
    version,
    revision: changes === '' ? commit : `${commit}-changed`,
    madeAtS: Number(seconds),
  };
}

async function git(...args: readonly string[]): Promise<string> {
  return (await run('git', ['-C', repository, ...args])).stdout.trim();
}
