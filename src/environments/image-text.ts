import type { Image } from '../model/environment.ts';

const rootfsPrefix = 'rootfs:';

/** `host`, `rootfs:PATH` or an image reference, as environments and operators write them. Folders stay as they are written. */
export function imageOf(text: string): Image {
  if (text === 'host') return { kind: 'host' };
  if (!text.startsWith(rootfsPrefix)) return { kind: 'image', reference: text };
  return { kind: 'rootfs', path: text.slice(rootfsPrefix.length) };
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
