import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../payload/repository.ts';
import { productionPackages } from './packages.ts';

type Manifest = { readonly version: string; readonly license?: string };

/** The packages whose code is in the bundles, each with its license, as most licenses demand. */
export async function licenses(): Promise<string> {
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as Parameters<
    typeof productionPackages
  >[0];
  const notices = await Promise.all(productionPackages(lock).toSorted().map(noticeOf));
  return notices.join('\n');
}

async function noticeOf(folder: string): Promise<string> {
  const place = join(repository, folder);
  const manifest = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as Manifest;
  const names = (await readdir(place)).filter((name) => /^(?:licen[cs]e|copying|notice)\b/i.test(name));
  const texts = await Promise.all(names.toSorted().map((name) => readFile(join(place, name), 'utf8')));
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  return [`== ${name} ${manifest.version} (${manifest.license ?? 'see below'})`, ...texts, ''].join('\n');
}
