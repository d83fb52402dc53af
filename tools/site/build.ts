import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { faultsOf, readBuilt } from './check.ts';
import { imageAddressOf } from './links.ts';
import { type Page, pagesOf, repository, trackedFiles } from './pages.ts';
import { toVariable } from './settings.ts';

const run = promisify(execFile);
const own = import.meta.dirname;

export type SiteOptions = {
  /** Where the site is written; what was there is removed. */
  readonly folder: string;
  readonly base: string;
  readonly repositoryUrl: string | null;
  /** Of these files, pages and images: all of the repository, if it is left out. */
  readonly files?: readonly string[];
  /** Markdown to show instead of the repository's, by source path. */
  readonly texts?: Readonly<Record<string, string>>;
};
export type BuiltSite = {
  readonly pages: readonly Page[];
  readonly output: string;
  readonly faults: readonly string[];
};

/** Builds the site and compares it with its Markdown. */
export async function buildSite(options: SiteOptions): Promise<BuiltSite> {
  const { folder, base, repositoryUrl, files = trackedFiles(), texts = {} } = options;
  const pages = pagesOf(files);
  const [sources, output] = [join(folder, 'source'), join(folder, 'site')];
  await rm(folder, { recursive: true, force: true });
  await stage(files, pages, sources, texts);
  await runVitePress({ pages, sourceFolder: sources, outputFolder: output, base, repositoryUrl });
  await Promise.all(pages.map((page) => writeRedirect(page, output)));
  const built = await readBuilt(pages, sources, output);
  return { pages, output, faults: faultsOf(built, output, base) };
}

async function stage(files: readonly string[], pages: readonly Page[], to: string, texts: Texts) {
  for (const { source, address } of pages) {
    const text = texts[source] ?? (await readFile(join(repository, source), 'utf8'));
    await write(join(to, `${address}.md`), text);
  }
  const images = files.filter((file) => /^docs\/.*\.(?:svg|png)$/.test(file));
  for (const image of images) {
    const target = join(to, 'public', imageAddressOf(image));
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(repository, image), target);
  }
}

type Texts = Readonly<Record<string, string>>;

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** VitePress calls some builds with errors complete, so that its own report counts, too. */
async function runVitePress(settings: Parameters<typeof toVariable>[0]): Promise<void> {
  const program = join(own, 'node_modules/vitepress/bin/vitepress.js');
  const env = { ...process.env, ...toVariable(settings) };
  const { stdout, stderr } = await run(process.execPath, [program, 'build', own], {
    env,
    maxBuffer: 1 << 26,
  });
  const report = stdout + stderr;
  if (/\[vue|error/i.test(report) && !report.includes('build complete')) throw new Error(report);
}

/** Links with the ending of Markdown work as on a code host, so that one base address serves for both. */
async function writeRedirect({ address }: Page, output: string): Promise<void> {
  const name = `${address.split('/').at(-1)}.html`;
  const html = `<!doctype html><meta charset="utf-8"><title>${name}</title>
<meta http-equiv="refresh" content="1; url=../${name}">
<script>location.replace('../${name}' + location.hash)</script>
<a href="../${name}">${name}</a>
`;
  await write(join(output, `${address}.md`, 'index.html'), html);
}
