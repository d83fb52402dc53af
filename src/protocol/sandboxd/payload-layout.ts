/**
 * Where things lie in the payload: the folder that makes sandboxd run in any root, also one without glibc. Shared by
 * who builds and mounts it and by sandboxd, which starts its helper from the same files.
 *
 *   lib/ld.so      the ELF loader and, beside it, every library that Node needs
 *   node           the Node binary
 *   sandboxd/      the bundled JavaScript of sandboxd, of its helper and of the servers of sessions; `enter`, through which it starts
 *                  every program; `pty`, which gives a program a terminal; `ask-terminals`, which asks a server of sessions; `reader` and `try-limits`, which sandboxd asks;
 *                  `mount-root`, `own-network` and `limit-sockets`, with which one machine's node starts a whole sandbox; `daemon`,
 *                  another name of the Node binary
 *
 * The loader is told its library path as an argument, which children do not inherit: the image's own programs find
 * their own libraries, never ours.
 */
export const payloadLayout = {
  libraries: 'lib',
  loader: 'lib/ld.so',
  node: 'node',
  code: 'sandboxd',
  // Next to the code that cannot do without it: a controller of any version copies both or neither.
  enter: 'sandboxd/enter',
  reader: 'sandboxd/reader',
  'limit-sockets': 'sandboxd/limit-sockets',
  'own-network': 'sandboxd/own-network',
  'mount-root': 'sandboxd/mount-root',
  'try-limits': 'sandboxd/try-limits',
  pty: 'sandboxd/pty',
  'ask-terminals': 'sandboxd/ask-terminals',
  /** A link to `node`, so that a policy that looks for its own server by `pgrep -f node` does not find the sandbox's first processes. */
  daemon: 'sandboxd/daemon',
} as const;

/** sandboxd itself, the helper that it starts for one request, and the servers of a sandbox's terminals and of its browser. */
export type PayloadEntry = 'main' | 'helper' | 'terminals' | 'browser';

/**
 * All that is Corral's in a sandbox, where no installer's `chown -R`, `rm -rf` or `tar` goes: they name folders such as `/opt` and `/run`,
 * and neither `/*` nor `ls /` shows it.
 */
export const ownFolder = '/.corral';

/** Where the payload is in every sandbox of either provider, unless its image contains it. */
export const payloadMountPoint = `${ownFolder}/payload`;

/** Where graders work in every sandbox: disk of their own, below folders that only root may write. */
export const graderMountPoint = `${ownFolder}/grader`;

/** Where it is if graders have a root of their own: only sandboxd may enter, and all can see that it is there. */
export const gradersOwnRoot = `${ownFolder}/grading`;

/**
 * Where the previous version has these. Images with sandboxd baked in keep the payload there, and a controller that names no folder for
 * graders mounts theirs there.
 */
export const formerPlaces = { payload: '/opt/corral', grader: '/run/corral-grader' } as const;

/** A program of the payload, where that is mounted at `mountPoint`. */
export const payloadEntry = (mountPoint: string, entry: PayloadEntry): string =>
  `${mountPoint}/${payloadLayout.code}/${entry}.cjs`;

/**
 * The programs with sources in `infra/payload/native`: `enter` starts all others, `reader` reads the policy's files, `mount-root` mounts
 * a sandbox's root, `own-network` gives it its network, `limit-sockets` limits how many sockets it has, `try-limits` tells which limits
 * that it shares with others are used up, `pty` runs a program in a terminal, and `ask-terminals` asks a server of sessions.
 */
export const nativePrograms = [
  'enter',
  'reader',
  'limit-sockets',
  'own-network',
  'mount-root',
  'try-limits',
  'pty',
  'ask-terminals',
] as const;
export type NativeProgram = (typeof nativePrograms)[number];

export const payloadNative = (mountPoint: string, program: NativeProgram): string =>
  `${mountPoint}/${payloadLayout[program]}`;

/** An argv that closes the descriptors from `first` on, then becomes the shell. Its arguments follow. */
export const shellClosingFrom = (payloadFolder: string, first: number): readonly string[] => [
  payloadNative(payloadFolder, 'enter'),
  '--close-from',
  String(first),
  '--',
  '/bin/sh',
];

/** The payload's Node as the beginning of an argv, before Node's own flags. */
export const payloadNodeArgv = (mountPoint: string): readonly string[] =>
  loadedArgv(mountPoint, payloadLayout.node);

/**
 * The same for a command in a sandbox of which it is unknown where its payload is. Then the image must have a shell, as it must for most
 * commands.
 */
export const foundNodeArgv = (): readonly string[] => [
  '/bin/sh',
  '-c',
  `at=${payloadMountPoint}; [ -e "$at" ] || at=${formerPlaces.payload}
exec ${loadedArgv('"$at"', payloadLayout.node).join(' ')} "$@"`,
  'corral',
];

const loadedArgv = (mountPoint: string, program: string): readonly string[] => [
  `${mountPoint}/${payloadLayout.loader}`,
  '--library-path',
  `${mountPoint}/${payloadLayout.libraries}`,
  `${mountPoint}/${program}`,
];

/**
 * Few threads, since each counts toward the sandbox's process limit; a young generation of the smallest size, since an
 * idle daemon shall cost little and a busy one only copies bytes. SIGUSR1 would open Node's inspector to processes that can signal
 * sandboxd, and with it all that sandboxd knows. No flag that changes what V8 compiles, such as
 * `--expose-gc`: with it none of the code that Node has compiled already is taken, and a start costs twice as much.
 */
const nodeFlags = ['--max-semi-space-size=1', '--v8-pool-size=1', '--disable-sigusr1'];

/** How to start sandboxd where the payload is mounted at `mountPoint`. */
export function sandboxdArgv(mountPoint: string): readonly string[] {
  return [...payloadNodeArgv(mountPoint), ...nodeFlags, payloadEntry(mountPoint, 'main')];
}

/** The same where bubblewrap is the sandbox's first process, whose command line has this argv too. A pod may have a payload of another version. */
export const namelessSandboxdArgv = (mountPoint: string): readonly string[] => [
  ...loadedArgv(mountPoint, payloadLayout.daemon),
  ...nodeFlags,
  payloadEntry(mountPoint, 'main'),
];
