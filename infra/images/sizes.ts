import type { BuiltImage } from './build.ts';

/** How large an image is, in all and by layer, for a person. */
export function sizeLines({ name, archive, layerBytes }: BuiltImage): readonly string[] {
  const total = layerBytes.reduce((sum, bytes) => sum + bytes, 0);
  const layers = layerBytes.map(megabytes).join(' + ');
  return [`${name}  ${megabytes(total)}${layerBytes.length > 1 ? ` (${layers})` : ''}`, `  ${archive}`];
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
