import type { Image } from '../model/environment.ts';

const rootfsPrefix = 'rootfs:';

/** `host`, `rootfs:PATH` or an image reference, as environments and operators write them. Folders stay as they are written. */
export function imageOf(text: string): Image {
  if (text === 'host') return { kind: 'host' };
  if (!text.startsWith(rootfsPrefix)) return { kind: 'image', reference: text };
  return { kind: 'rootfs', path: text.slice(rootfsPrefix.length) };
}

/**
 * An archive of one machine, as skopeo names it: `docker-archive:` is what `docker save` writes, `oci-archive:` and `oci:` are an OCI
 * layout as a file and as a folder. Null: an image of a registry. A reference never has `/` or `.` after a colon.
 */
export type Archive = { readonly transport: string; readonly path: string };

const transports = ['docker-archive', 'oci-archive', 'oci'] as const;

export function archiveOf(reference: string): Archive | null {
  const transport = transports.find(
    (each) => /^[/.]/.test(reference.slice(`${each}:`.length)) && reference.startsWith(`${each}:`),
  );
  return transport === undefined ? null : { transport, path: reference.slice(`${transport}:`.length) };
}

/**
 * The registry that a reference names; null: none, which means Docker Hub. The first part is a host if it cannot be a part of a path;
 * Docker's rule.
 */
export function hostOf(reference: string): string | null {
  const [first = '', ...rest] = reference.split('/');
  return rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost') ? first : null;
}

/** Names that only a network of one's own gives. */
const ownNames: ReadonlySet<string> = new Set([
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'private',
  'svc',
]);

/** Whether it can only be this machine or one of its own network: an address, as a program may write one, or a name without a domain. */
export function isInside(host: string): boolean {
  const [name = ''] = host.toLowerCase().split(':');
  const labels = name.split('.');
  const last = labels.at(-1) ?? '';
  return labels.length === 1 || !/^[a-z]/.test(last) || ownNames.has(last);
}

/** The inverse of {@link imageOf}, which patterns are compared with. */
export function imageText(image: Image): string {
  switch (image.kind) {
    case 'host':
      return 'host';
    case 'rootfs':
      return `${rootfsPrefix}${image.path}`;
    case 'image':
      return image.reference;
  }
}
