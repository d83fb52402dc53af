import { payloadMountPoint, payloadNodeArgv } from '#src/protocol/sandboxd/payload-layout.ts';

export type Writable = {
  readonly uid: number;
  /** Folders that the user of commands may write, outside of those that are theirs. At most {@link mostFolders}. */
  readonly folders: readonly string[];
  /** Of them the ones on PATH, and programs there that may be written themselves. */
  readonly onPath: readonly string[];
  /** Not all was looked at. */
  readonly cutOff: boolean;
};

/** A person reads them; who may write more than this may write everywhere. */
const mostFolders = 200;
/** An image with half a million files is walked through in some seconds. */
export const walkMs = 30_000;

/** Node's heap of a probe; the names of one folder at a time. */
const nodeFlags = ['--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=1'];

/** The policy's own, and the kernel's. The workspace is where the command starts. */
const expected = ['/workspace', '/tmp', '/dev', '/proc', '/run', '/sys'];

/** The command that looks for them as the policy's user, by sandboxd's own Node: an image may have no `find`, or a small one. */
export function findWritableArgv(): readonly string[] {
  const given = JSON.stringify([expected, mostFolders, walkMs]);
  const script = `console.log(JSON.stringify((${findWritable.toString()})(...${given})))`;
  return [...payloadNodeArgv(payloadMountPoint), ...nodeFlags, '--eval', script];
}

/** Travels as text: it may name nothing outside itself. Whether the kernel would let it write is asked, nothing is written. */
export function findWritable(
  leftOut: readonly string[],
  most: number,
  forMs: number,
  root = '/',
  path = process.env['PATH'] ?? '',
): Writable {
  const fs = process.getBuiltinModule('node:fs');
  const untilMs = performance.now() + forMs;
  const pruned = new Set([...leftOut, process.cwd()]);
  const isWritable = (at: string) => {
    try {
      fs.accessSync(at, fs.constants.W_OK);
      return true;
    } catch {
      return false;
    }
  };
  const inside = (folder: string) => {
    try {
      return fs.readdirSync(folder, { withFileTypes: true });
    } catch {
      return [];
    }
  };
  const folders: string[] = [];
  const waiting = [root];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (pruned.has(at)) continue;
    if (folders.length >= most || performance.now() > untilMs) {
      waiting.push(at);
      break;
    }
    if (isWritable(at)) folders.push(at);
    for (const entry of inside(at))
      if (entry.isDirectory()) waiting.push(`${at === '/' ? '' : at}/${entry.name}`);
  }
  const onPath = new Set<string>();
  for (const folder of path.split(':')) {
    if (isWritable(folder)) onPath.add(folder);
    for (const entry of inside(folder)) {
      const program = `${folder}/${entry.name}`;
      if (entry.isFile() && isWritable(program)) onPath.add(program);
    }
  }
  const uid = process.getuid?.() ?? -1;
  return { uid, folders, onPath: [...onPath].slice(0, most), cutOff: waiting.length > 0 };
}
