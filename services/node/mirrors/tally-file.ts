import { closeSync, constants, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import {
  formatMirrorTally,
  mirrorTallyBytes,
  type MirrorTally,
  type MirrorUse,
  nothingAsked,
  parseMirrorTally,
} from '#src/protocol/sandboxd/mirror-tally.ts';

/** The file with a sandbox's tally, on node's side. */
export type TallyFile = {
  readonly descriptor: number;
  /** Adds the connections of a proxy that died. Null: it cannot be counted, and the file is gone, so that every call's evidence says so. */
  addLoss(): MirrorTally | null;
  close(): void;
};

/** Makes it. Nothing may be in its place, because a link there would lead elsewhere. */
export function createTallyFile(file: string): TallyFile {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const descriptor = openSync(file, flags, 0o644);
  writeTally(descriptor, nothingAsked, 0);
  return {
    descriptor,
    addLoss: () => {
      try {
        const tally = withLoss(readTally(descriptor));
        writeTally(descriptor, tally, -1);
        return tally;
      } catch {
        removeFile(file);
        return null;
      }
    },
    close: () => closeSync(descriptor),
  };
}

function readTally(descriptor: number): MirrorTally {
  const bytes = Buffer.alloc(mirrorTallyBytes);
  const count = readSync(descriptor, bytes, 0, bytes.length, 0);
  return parseMirrorTally(bytes.toString('utf8', 0, count));
}

/** In place and in one piece: the file never grows, so a full disk does not stop it. Throws what the disk says. */
export function writeTally(descriptor: number, tally: MirrorTally, writes: number): void {
  const bytes = Buffer.from(formatMirrorTally(tally, writes));
  if (bytes.length !== mirrorTallyBytes) throw new Error('the tally of mirrors has outgrown its file');
  if (writeSync(descriptor, bytes, 0, bytes.length, 0) !== bytes.length)
    throw new Error('the tally of mirrors could not be written whole');
}

/** What was under way when a proxy died has an unknown end. */
export const withLoss = ({ policy, grader, doubt }: MirrorTally): MirrorTally => ({
  policy: lost(policy),
  grader: lost(grader),
  undecided: 0,
  doubt,
});

const lost = (use: MirrorUse): MirrorUse => ({ ...use, lost: use.lost + use.open, open: 0, underWay: 0 });

function removeFile(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // With its sandbox it is gone anyway; what is left unreadable says the same as no file.
  }
}
