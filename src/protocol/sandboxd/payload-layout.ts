/**
 * Where things lie in the payload: the folder that makes sandboxd run in any root, also one without glibc. Shared by
 * who builds and mounts it and by sandboxd, which starts its helper from the same files.
 *
 *   lib/ld.so      the ELF loader and, beside it, every library that Node needs
 *   node           the Node binary
 *   behind         a program that runs another one with less right to the CPU
 *   close-from     a program that runs another one without the descriptors of the process that started it
 *   sandboxd/      the bundled JavaScript of sandboxd and of its helper
 *
 * The loader is told its library path as an argument, which children do not inherit: the image's own programs find
 * their own libraries, never ours.
 */
export const payloadLayout = {
  libraries: 'lib',
  loader: 'lib/ld.so',
  node: 'node',
  behind: 'behind',
  closeFrom: 'close-from',
  code: 'sandboxd',
} as const;

/** sandboxd itself, the helper that it starts for one request, and a thread that it starts where it must. */
export type PayloadEntry = 'main' | 'helper' | 'spawn-watcher';

/** Where the payload is in every sandbox, whoever made it. */
export const payloadMountPoint = '/opt/corral';

/** Where graders work in every sandbox: disk of their own, below folders that only root may write. */
export const graderMountPoint = '/run/corral-grader';

/** A program of the payload, where that is mounted at `mountPoint`. */
export const payloadEntry = (mountPoint: string, entry: PayloadEntry): string =>
  `${mountPoint}/${payloadLayout.code}/${entry}.cjs`;

/** Before the path of a program, its name and its arguments, it runs that with less right to the CPU than sandboxd has. */
export const payloadBehind = (mountPoint: string): string => `${mountPoint}/${payloadLayout.behind}`;

/** An argv that closes the descriptors from `first` on, then becomes the shell. Its arguments follow. */
export const shellClosingFrom = (payloadFolder: string, first: number): readonly string[] => [
  `${payloadFolder}/${payloadLayout.closeFrom}`,
  String(first),
  '/bin/sh',
  'sh',
];

/** The payload's Node as the beginning of an argv, before Node's own flags. */
export function payloadNodeArgv(mountPoint: string): readonly string[] {
  return [
    `${mountPoint}/${payloadLayout.loader}`,
    '--library-path',
    `${mountPoint}/${payloadLayout.libraries}`,
    `${mountPoint}/${payloadLayout.node}`,
  ];
}

/**
 * Few threads, since each counts toward the sandbox's process limit; a young generation of the smallest size, since an
 * idle daemon shall cost little and a busy one only copies bytes. No flag that changes what V8 compiles, such as
 * `--expose-gc`: with it none of the code that Node has compiled already is taken, and a start costs twice as much.
 */
const nodeFlags = ['--max-semi-space-size=1', '--v8-pool-size=1'];

/** How to start sandboxd where the payload is mounted at `mountPoint`. */
export function sandboxdArgv(mountPoint: string): readonly string[] {
  return [...payloadNodeArgv(mountPoint), ...nodeFlags, payloadEntry(mountPoint, 'main')];
}
