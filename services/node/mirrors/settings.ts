import type { Mirrors } from '#src/model/mirrors.ts';
import { insideOf, type MirrorPlan, planMirrors } from './plan.ts';

/*
 * How package managers in a sandbox find its mirrors: by variables, which an image's own go before, and by one file that apt reads in
 * addition to the image's.
 */

/** The name of apt's file in /etc. */
export const aptConfigName = 'corral-apt.conf';

/** Of commands and of graders. */
export function mirrorVariables(mirrors: Mirrors): Readonly<Record<string, string>> {
  const plan = planMirrors(mirrors);
  const found = Object.entries(mirrors).map(([name, [index]]) =>
    index === undefined ? {} : variablesOf(name, insideOf(plan, index)),
  );
  return Object.assign({}, ...found) as Readonly<Record<string, string>>;
}

function variablesOf(name: string, address: string): Readonly<Record<string, string>> {
  const own = { [`CORRAL_MIRROR_${name.toUpperCase().replaceAll('-', '_')}`]: address };
  switch (name) {
    case 'pypi':
      // uv had the second name before the first, and warns of neither.
      return { ...own, PIP_INDEX_URL: address, UV_DEFAULT_INDEX: address, UV_INDEX_URL: address };
    case 'npm':
      // Lock files name the server that they were made with.
      return { ...own, npm_config_registry: address, npm_config_replace_registry_host: 'always' };
    case 'debian':
    case 'debian-security':
    case 'ubuntu':
      return { ...own, APT_CONFIG: `/etc/${aptConfigName}` };
    default:
      return own;
  }
}

/**
 * apt asks a proxy for the addresses in the image's own sources, and the mirror answers in their place: so every release, suite and
 * component is the image's. Empty: nothing of the mirrors is apt's.
 */
export function aptConfig(mirrors: Mirrors): Readonly<Record<string, string>> {
  const plan: MirrorPlan = planMirrors(mirrors);
  const [first] = plan.origins;
  if (plan.standIns.length === 0 || first === undefined) return {};
  return { [aptConfigName]: `Acquire::http::Proxy "${first.inside}/";\n` };
}
