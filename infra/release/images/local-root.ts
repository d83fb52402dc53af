import { join } from 'node:path';
import { fileEntry, tree } from '#infra/images/contents/tree.ts';
import type { Entry } from '#infra/images/oci/tar.ts';
import { type DebianRoot, debianRoot, statusFile } from '../debian.ts';
import { text } from './runtime-base.ts';

/** What `corral up` runs, and what commands in its sandboxes find: they see the programs of this image. */
const packages = [
  'bash',
  'bubblewrap',
  'ca-certificates',
  'coreutils',
  'dash',
  'diffutils',
  'file',
  'findutils',
  'gawk',
  'grep',
  'gzip',
  'hostname',
  'jq',
  'libc-bin',
  'mount',
  'openssl',
  'patch',
  'procps',
  'python3-minimal',
  'redis-server',
  'sed',
  'skopeo',
  'tar',
  'tini',
  'util-linux',
  'zstd',
];

/** They install, configure or start others of Debian's packages: nothing does that in an image. */
const ofInstallation = [
  'adduser',
  'debconf',
  'dpkg',
  'init-system-helpers',
  'libfile-find-rule-perl',
  'libgdbm6',
  'libgdbm-compat4',
  'libnumber-compare-perl',
  'libperl5.36',
  'libtext-glob-perl',
  'lsb-base',
  'passwd',
  'perl',
  'perl-base',
  'perl-modules-5.36',
  'sysvinit-utils',
  'usrmerge',
];

/** For signatures of images and for networks of containers, 20 MB, which come along with skopeo: node asks it for neither. */
const ofSkopeo = [
  'containernetworking-plugins',
  'dirmngr',
  'dmsetup',
  'gnupg',
  'gnupg-l10n',
  'gnupg-utils',
  'golang-github-containers-common',
  'golang-github-containers-image',
  'gpg',
  'gpg-agent',
  'gpg-wks-client',
  'gpg-wks-server',
  'gpgconf',
  'gpgsm',
  'gpgv',
  'iptables',
  'libffi8',
  'libgnutls30',
  'libhogweed6',
  'libidn2-0',
  'libip4tc2',
  'libip6tc2',
  'libksba8',
  'libldap-2.5-0',
  'libmnl0',
  'libnetfilter-conntrack3',
  'libnettle8',
  'libnfnetlink0',
  'libnftnl11',
  'libnpth0',
  'libp11-kit0',
  'libsasl2-2',
  'libsasl2-modules-db',
  'libsqlite3-0',
  'libtasn1-6',
  'libunistring2',
  'libxtables12',
  'netbase',
  'pinentry-curses',
];

type Wish = { readonly architecture: 'x64' | 'arm64'; readonly revision: string; readonly cacheDir: string };

export const localRoot = ({ cacheDir, ...wish }: Wish): Promise<DebianRoot> =>
  debianRoot({ ...wish, packages, without: [...ofInstallation, ...ofSkopeo] }, cacheDir);

/** For people and translators. Licenses stay. */
const leftOut =
  /^usr\/(?:share\/(?:man|info|locale|lintian|bug|gdb|gcc|doc-base|menu|pixmaps)|games)(?:\/|$)/;
const docs = /^usr\/share\/doc\/[^/]+\/(?!copyright$)/;

/** The files of a Debian system in which nothing was installed: only unpacked. */
export async function localRootLayer(root: DebianRoot): Promise<readonly Entry[]> {
  const files = (await tree(root.folder, '')).map(merged);
  return [
    ...files.filter(({ path }) => !leftOut.test(path) && !docs.test(path) && !aliases.includes(path)),
    ...aliases.map((path): Entry => ({ kind: 'link', path, to: `usr/${path}` })),
    // What Debian's own scripts would have made.
    { kind: 'link', path: 'usr/bin/awk', to: 'gawk' },
    { kind: 'link', path: 'usr/bin/sh', to: 'dash' },
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    { kind: 'folder', path: 'var/tmp', mode: 0o1777 },
    text(
      'etc/passwd',
      'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    ),
    text('etc/group', 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n'),
    fileEntry(join(root.folder, '..', 'packages'), statusFile, false),
  ];
}

/** Debian 12 ships files below both of `/lib` and `/usr/lib`; on every installed system they are one folder. */
const aliases: readonly string[] = ['bin', 'sbin', 'lib', 'lib64'];

function merged(entry: Entry): Entry {
  const [first = '', ...rest] = entry.path.split('/');
  return aliases.includes(first) && rest.length > 0 ? { ...entry, path: `usr/${entry.path}` } : entry;
}
