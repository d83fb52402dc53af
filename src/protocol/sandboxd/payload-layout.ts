/**
 * Where things lie in the payload: the folder that makes sandboxd run in any root, also one without glibc. Shared by
 * who builds and mounts it and by sandboxd, which starts its helper from the same files.
 *
 *   lib/ld.so      the ELF loader and, beside it, every library that Node needs
 *   node           the Node binary
 *   sandboxd/      the compiled JavaScript
 *
 * The loader is told its library path as an argument, which children do not inherit: the image's own programs find
 * their own libraries, never ours.
 */
export const payloadLayout = {
  libraries: 'lib',
  loader: 'lib/ld.so',
  node: 'node',
  code: 'sandboxd',
  main: 'sandboxd/services/sandboxd/main.js',
} as const;

/** The payload's Node as the beginning of an argv, before Node's own flags. */
export function payloadNodeArgv(mountPoint: string): readonly string[] {
  return [
    `${mountPoint}/${payloadLayout.loader}`,
    '--library-path',
    `${mountPoint}/${payloadLayout.libraries}`,
    `${mountPoint}/${payloadLayout.node}`,
  ];
}
