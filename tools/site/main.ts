import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildSite } from './build.ts';
import { installPackages } from './packages.ts';
import { repository } from './pages.ts';

/*
 * `npm run docs [-- --base /corral/] [--repository URL]`: builds the site into out/docs/site. Fails on a dead link, and on a page whose text
 * differs from its Markdown.
 */

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    repository: { type: 'string' },
  },
});
installPackages();
const folder = join(repository, 'out/docs');
const start = performance.now();
const { pages, output, faults } = await buildSite({
  folder,
  base: values.base.replace(/^\/?/, '/').replace(/\/?$/, '/'),
  repositoryUrl: values.repository ?? null,
});
for (const fault of faults) console.error(fault);
const seconds = ((performance.now() - start) / 1000).toFixed(1);
console.log(
  `${pages.length} pages in ${relative(process.cwd(), output)} after ${seconds} s, ${faults.length} faults`,
);
process.exitCode = faults.length === 0 ? 0 : 1;
