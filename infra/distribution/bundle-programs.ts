import { join } from 'node:path';
import type { Plugin } from 'rolldown';
import { repository } from '../payload/repository.ts';
import { bundleInto } from '../services/bundle-services.ts';

const programs = {
  corral: 'cli/main.ts',
  gateway: 'services/gateway/main.ts',
  controller: 'services/controller/main.ts',
  node: 'services/node/main.ts',
  console: 'services/console/main.ts',
  'mirror-proxy': 'services/node/mirrors/proxy/main.ts',
};

/** Drawing a page and counting tokens take packages of many megabytes; the command line says that they need a checkout. */
const onlyInCheckout = ['echarts', /^gpt-tokenizer/];

/** A release builds nothing: it has what a checkout builds. */
const shippedInsteadOfBuilt: Plugin = {
  name: 'shipped-instead-of-built',
  resolveId: (id) =>
    /^\.\.?\/(?:fleet\/)?programs\.ts$/.test(id) ? join(repository, 'cli/fleet/shipped-programs.ts') : null,
};

/** Bundles command line and services together, so that they share what they share. They need no package at work. */
export const bundlePrograms = (dir: string): Promise<void> =>
  bundleInto(dir, { input: programs, external: onlyInCheckout, plugins: [shippedInsteadOfBuilt] });
