/**
 * What of this host's folders a sandbox is made of, as its launch sees it. bubblewrap runs under ids that may enter
 * nothing closed to others, and a state folder, a checkout in /root or a corpus in somebody's home is: so host root
 * mounts each of them at a place that all may enter, in the launch's own mount namespace, where the host never sees it.
 */
export type StagedMount =
  | { readonly kind: 'folder'; readonly from: string; readonly at: string }
  | { readonly kind: 'disk'; readonly bytes: number; readonly at: string }
  | { readonly kind: 'terminals'; readonly at: string };

/**
 * A machine has 4,096 pseudo terminals, of which all sandboxes together get 3,072: without a limit one of them takes
 * them all, and `script` or `tmux` fails in the others. Far more than one rollout has windows.
 */
const mostTerminals = 32;

/** In `stageFolder`, one place for each; the same names for every sandbox, since no launch sees another's. */
export function stage(stageFolder: string, diskBytes: number, folders: readonly string[]) {
  const disk: StagedMount = { kind: 'disk', bytes: diskBytes, at: `${stageFolder}/disk` };
  const terminals: StagedMount = { kind: 'terminals', at: `${stageFolder}/pts` };
  const staged = folders.map((from, index): StagedMount => ({
    kind: 'folder',
    from,
    at: `${stageFolder}/${index}`,
  }));
  return [disk, terminals, ...staged] as const;
}

/** As `mount --all --fstab` reads them: one program mounts them all, where one for each would be dear. */
export function fstabOf(mounts: readonly StagedMount[]): string {
  return mounts.map((mount) => `${lineOf(mount)} 0 0\n`).join('');
}

function lineOf(mount: StagedMount): string {
  const at = escaped(mount.at);
  if (mount.kind === 'folder') return `${escaped(mount.from)} ${at} none rbind`;
  if (mount.kind === 'terminals') {
    return `corral-pts ${at} devpts newinstance,ptmxmode=0666,mode=0620,max=${mostTerminals},nosuid,noexec`;
  }
  return `corral-disk ${at} tmpfs size=${mount.bytes},mode=0711,nosuid,nodev`;
}

/** fstab separates by blanks, and a path may hold any. */
const escaped = (path: string) =>
  path.replaceAll(/[\s\\#]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
