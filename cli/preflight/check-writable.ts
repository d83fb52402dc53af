import { Type } from 'typebox';
import { gradersOwnRoot, ownFolder } from '#src/protocol/sandboxd/payload-layout.ts';
import { type Check, tryOut } from './check.ts';
import { probeArgv, type ProbedSandbox, probeSandbox } from './probe-sandbox.ts';

const Found = Type.Object({
  uid: Type.Number(),
  folders: Type.Array(Type.String()),
  onPath: Type.Array(Type.String()),
  cutOff: Type.Boolean(),
  gradersApart: Type.Boolean(),
});

/** An image with half a million files is walked through in some seconds. */
const walkMs = 30_000;

/**
 * What the policy can write outside its workspace. A program or module there is the policy's, like everything in the workspace.
 * A grader that runs or reads it runs what the policy wrote, and scores by it.
 */
export function checkWritable(under: ProbedSandbox): Promise<Check> {
  return tryOut(under.environment, 'what the policy can write', async () =>
    judgeWritable(await probeSandbox(under, findWritableArgv(), walkMs / 1000 + 30, Found)),
  );
}

/** Where commands run as root there is nothing that they cannot write; that is what the environment asked for. */
export function judgeWritable({
  uid,
  folders,
  onPath,
  cutOff,
  gradersApart,
}: Writable): Pick<Check, 'ok' | 'detail'> {
  const nothing = 'a grader must not run or read anything there';
  if (uid === 0)
    return { ok: true, detail: `everything: commands run as root, and what a grader runs is theirs` };
  if (gradersApart)
    return {
      ok: true,
      detail:
        'what the image lets it write; graders see of that only the workspace and sandbox.folders, neither /tmp nor homes',
    };
  if (onPath.length > 0) {
    const detail = `programs on PATH: ${onPath.join(' ')}; ${nothing}, and it does by every program that it names without a folder: let another user own them in the image`;
    return { ok: false, detail };
  }
  const rest = cutOff ? ' and more' : '';
  if (folders.length === 0 && !cutOff)
    return { ok: true, detail: 'its workspace and temporary folders only' };
  return { ok: true, detail: `outside its own folders: ${folders.join(' ')}${rest}; ${nothing}` };
}

type Writable = {
  readonly uid: number;
  /** Folders outside its own that the user of commands may write. At most {@link mostFolders}. */
  readonly folders: readonly string[];
  /** Of them the ones on PATH, and programs there that may be written themselves. */
  readonly onPath: readonly string[];
  /** Not all was looked at. */
  readonly cutOff: boolean;
  /** Graders run the image's own programs, whatever the policy writes. */
  readonly gradersApart: boolean;
};

/** A person reads them; who may write more than this may write everywhere. */
const mostFolders = 200;

/** The policy's own, and the kernel's. The workspace is where the command starts; the home is the one of images that name none. */
const expected = [
  '/workspace',
  '/tmp',
  '/var/tmp',
  '/home/policy',
  '/dev',
  '/proc',
  '/run',
  '/sys',
  ownFolder,
];

/** The command that looks for them as the policy's user, by sandboxd's own Node: an image may have no `find`, or a small one. */
export function findWritableArgv(): readonly string[] {
  const given = JSON.stringify([expected, mostFolders, walkMs, gradersOwnRoot]);
  const script = `console.log(JSON.stringify((${findWritable.toString()})(...${given})))`;
  return probeArgv(script);
}

/** Travels as text: it may name nothing outside itself. Whether the kernel would let it write is asked, nothing is written. */
export function findWritable(
  leftOut: readonly string[],
  most: number,
  forMs: number,
  gradersRoot: string,
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
  return {
    uid,
    folders,
    onPath: [...onPath].slice(0, most),
    cutOff: waiting.length > 0,
    gradersApart: fs.existsSync(gradersRoot),
  };
}
