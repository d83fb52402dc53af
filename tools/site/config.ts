import { join } from 'node:path';
import { anchorOf } from '../markdown/anchor.ts';
import { type Markdown, showAsWritten } from './markdown.ts';
import { navigationOf } from './navigation.ts';
import { settingsOfVariable } from './settings.ts';

const { pages, sourceFolder, outputFolder, base, repositoryUrl } = settingsOfVariable();
const groups = navigationOf(pages);

/** The configuration of VitePress. */
export const configuration = {
  title: 'Corral',
  description: 'Fleet controller for agentic RL training: a sandbox per rollout, every failure attributed',
  lang: 'en-US',
  base,
  srcDir: sourceFolder,
  outDir: outputFolder,
  cacheDir: join(sourceFolder, '../cache'),
  // Pages that a reader may open next are not fetched before.
  router: { prefetchLinks: false },
  markdown: {
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    gfmAlerts: false,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { http: 'sh' },
    config: (markdown: Markdown) => showAsWritten(markdown, { pages, repositoryUrl }),
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    nav: groups.map(({ text }) => ({ text, link: `/#${anchorOf(text)}` })),
    sidebar: groups,
    ...(repositoryUrl !== null && { socialLinks: [{ icon: 'git', link: repositoryUrl }] }),
  },
};
