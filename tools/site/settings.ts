import type { Page } from './pages.ts';

/** What `npm run docs` gives to VitePress, which reads its configuration in a process of its own. */
export type Settings = {
  readonly pages: readonly Page[];
  readonly sourceFolder: string;
  readonly outputFolder: string;
  /** Path of the site on its host, with a slash at both ends. */
  readonly base: string;
  readonly repositoryUrl: string | null;
};

const variable = 'CORRAL_DOCS_SETTINGS';

export const toVariable = (settings: Settings) => ({ [variable]: JSON.stringify(settings) });

export function settingsOfVariable(): Settings {
  const text = process.env[variable];
  if (text === undefined) throw new Error('build the site by `npm run docs`, which sets its folders');
  return JSON.parse(text) as Settings;
}
