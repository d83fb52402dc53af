/*
 * What goes into the image of gateway, controller and command line: one list for the Dockerfile and for the archives that are made
 * without Docker. A test compares it with the Dockerfile's COPY lines and with .dockerignore.
 */

/** Folders and files of the repository; they run as they are, since Node strips the types itself. */
export const serviceSources = [
  'package.json',
  'src',
  'services/gateway',
  'services/controller',
  'cli',
] as const;

/** The folder that stands in for `environments/` of the repository, whose own need programs of this machine. */
export const exampleEnvironments = 'infra/images/environments';

/** What else there is in them and nobody needs at work. */
export const leftOut = ['**/*.test.ts', '**/*.md', '**/*.yaml'] as const;

/** Of installed packages: what only compilers and people read. */
export const leftOutOfPackages = ['*.d.ts', '*.d.mts', '*.d.cts', '*.map', '*.md'] as const;

/** Whether a file's name is as one of the patterns `*.ending` or `**\/*.ending` says. */
export function isLeftOut(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => path.endsWith(pattern.slice(pattern.indexOf('*.') + 1)));
}
