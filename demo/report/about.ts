import { cpus, totalmem } from 'node:os';
import { docsPage } from '#src/platform/docs.ts';
import { thisProcess } from '#src/platform/this-process.ts';

/** Where and by what a report was made, for its footer. */
export type About = {
  readonly machine: string;
  readonly version: string;
  readonly command: string;
  readonly pages: readonly string[];
};

const gib = 1024 ** 3;

export function aboutThisRun(args: readonly string[]): About {
  const [{ model } = { model: 'unknown processor' }] = cpus();
  const own = args.length === 0 ? '' : ` -- ${args.join(' ')}`;
  return {
    machine: `${cpus().length} cores (${model.trim()}), ${Math.round(totalmem() / gib)} GiB`,
    version: thisProcess.version,
    command: `npm run demo${own}`,
    pages: [docsPage('demo.md'), docsPage('rates.md'), docsPage('trainers.md')],
  };
}
