import { posix } from 'node:path';
import type { Entry } from './root-layout.ts';

export type ListNames = (path: string) => Promise<readonly Pick<Entry, 'name' | 'kind'>[]>;

/** What of the host's programs folders is kept from sandboxes: they find it empty. */
export type Kept = { readonly path: string; readonly kind: 'folder' | 'file' };

/**
 * Beside programs stand settings that a machine's owner wrote for all who run them, and in these the passwords of registries,
 * clouds and clusters. Whatever its mode: they are there to be read. A list of names, so it knows the usual ones only.
 */
const folders: readonly RegExp[] = [
  // Settings of what is installed under these prefixes: npm's, pip's, git's, gem's, PHP's.
  /^\/usr\/(?:local\/)?etc$/,
  // Of services, by systemd.
  /\/credstore(?:\.encrypted)?$/,
  // A home that is somebody's, or was made for everybody.
  /\/\.(?:aws|azure|config|docker|gnupg|kube|oci|ssh|terraform\.d)$/,
  /\/ssl\/private$/,
];

const files: readonly RegExp[] = [
  // Package registries.
  /^\.?(?:npmrc|condarc|gemrc|pypirc|yarnrc|yarnrc\.yml|terraformrc)$/,
  /^(?:pip\.conf|pip\.ini|auth\.json|\.dockercfg)$/,
  // Hosts and databases.
  /^[._]?netrc$/,
  /^\.?(?:pgpass|my\.cnf|gitconfig)$/,
  /^\.(?:htpasswd|git-credentials|boto|s3cfg)$/,
  // Clouds and clusters.
  /^(?:.+[-_.])?(?:credentials?|secrets?|service[-_]account)\.(?:json|toml|ya?ml|ini|conf|txt|env)$/,
  /^\.?credentials$/,
  /^(?:.+\.)?kubeconfig$/,
  /^\.env(?:\..+)?$/,
  // Keys and accounts.
  /^(?:id_(?:rsa|dsa|ecdsa|ed25519)|ssh_host_.+_key)$/,
  /\.(?:key|p12|pfx|jks|keystore)$/,
  /^jmxremote\.password$/,
  /^R(?:environ|profile)(?:\.site)?$/,
  /^g?shadow-?$/,
];

/** Whether something at this path is kept, by its names alone. */
export const isKept = (path: string, kind: Kept['kind']): boolean =>
  kind === 'file'
    ? files.some((one) => one.test(posix.basename(path)))
    : folders.some((one) => one.test(path));

/** Programs, some of them named after what they work with. */
const programs = /\/(?:s?bin|git-core)$/;

/** Settings stand near the top; below are the packages themselves, a hundred thousand files of other people's. */
const deepest = 5;

/** What is there to be kept, of the host's root as sandboxes see it. Takes some tenths of a second. */
export async function settingsOfHost(list: ListNames, at = '/', depth = 0): Promise<readonly Kept[]> {
  const entries = await list(at).catch(() => []);
  const kept: Kept[] = [];
  for (const { name, kind } of entries) {
    const path = posix.join(at, name);
    if (kind === 'link') continue;
    if (isKept(path, kind)) kept.push({ path, kind });
    else if (kind === 'folder' && depth < deepest - 1 && !programs.test(path))
      kept.push(...(await settingsOfHost(list, path, depth + 1)));
  }
  return kept;
}

/** Without what the template mounts something of its own over. */
export const notCovered = (kept: readonly Kept[], targets: readonly string[]): readonly Kept[] =>
  kept.filter(({ path }) => !targets.some((target) => `${path}/`.startsWith(`${target}/`)));
