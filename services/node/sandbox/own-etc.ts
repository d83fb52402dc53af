import { chmodSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Image } from '#src/model/environment.ts';
import { copiesPlace } from '../bwrap/host-etc.ts';
import { copiesFolder, hostEtc, ownEtcNames } from '../bwrap/host-root.ts';
import type { Mirrors } from '#src/model/mirrors.ts';
import type { AccountFiles } from '../image/accounts.ts';
import { aptConfig } from '../mirrors/settings.ts';

/** A sandbox's own files of /etc by name, as container engines write them into every container. */
export type OwnEtc = Readonly<Record<string, string>>;

/**
 * Some libraries require a name server. No process can have this address (RFC 5737), and a sandbox has no route to it, so a lookup fails at
 * once. At 127.0.0.1 a program of the policy could answer.
 */
const resolvConf = '# This sandbox has no network.\nnameserver 192.0.2.1\n';

export const sandboxEtc = (
  sandbox: string,
  accounts: Partial<AccountFiles>,
  mirrors: Mirrors = {},
): OwnEtc => ({
  // Its own name is last: an address has the name that comes first.
  hosts: `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.0.1 ${sandbox}\n`,
  hostname: `${sandbox}\n`,
  'resolv.conf': resolvConf,
  ...accounts,
  ...aptConfig(mirrors),
});

/** Writes them where a launch finds them. All may read them, whatever our umask is. */
export function writeSandboxEtc(folder: string, etc: OwnEtc): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  for (const [name, text] of Object.entries(etc)) {
    const file = join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, 0o644);
  }
}

/**
 * How they come to be in an image, whose /etc is read-only:
 *
 *   bound     each over the image's file of that name
 *   layered   the image lacks one: our folder is laid above its /etc
 *   anew      it lacks one and this host has no layers: /etc is made entry by entry, which takes a start a fifth of a second
 *   left      its /etc is a link or a file: nothing can be put there, and it stays as it is
 */
export type EtcPlan = 'bound' | 'layered' | 'anew' | 'left';

/** `own`: the names of our files. `targets`: what the template mounts. */
export function planEtc(
  own: readonly string[],
  image: Image,
  { targets, canLayer }: { readonly targets: readonly string[]; readonly canLayer: boolean },
): EtcPlan {
  if (image.kind !== 'rootfs') return 'bound';
  const found = statsOf(join(image.path, 'etc'));
  if (found === undefined) return 'bound';
  if (!found.isDirectory()) return 'left';
  if (own.every((name) => statsOf(join(image.path, 'etc', name))?.isFile() === true)) return 'bound';
  // A mount point cannot be made in layers that are read-only.
  return canLayer && !targets.some((target) => target.startsWith('/etc/')) ? 'layered' : 'anew';
}

const statsOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });

export const inEtc = (name: string): string => join('/etc', name);

/** Files of /etc by where they are in the sandbox: what this host's programs need of it, and the sandbox's own. */
export function etcFilesOf(
  image: Image,
  { etc, ownEtc }: { readonly etc: string; readonly ownEtc: string },
  etcPlan: EtcPlan,
  own: readonly string[],
): Readonly<Record<string, string>> {
  const isBound = etcPlan === 'bound' || etcPlan === 'anew';
  const ownFiles = isBound ? own.map((name) => [inEtc(name), join(ownEtc, name)]) : [];
  const hosts = image.kind === 'host' ? Object.entries(etcOf(etc)) : [];
  return Object.fromEntries([...hosts, ...ownFiles]) as Record<string, string>;
}

export function etcOf(own: string): Readonly<Record<string, string>> {
  const host = hostEtc.map((name) => [join('/etc', name), join('/etc', name)]);
  const ours = ownEtcNames.map((name) => [join('/etc', name), join(own, name)]);
  return Object.fromEntries([...host, ...ours, [copiesPlace, join(own, copiesFolder)]]) as Record<
    string,
    string
  >;
}
