import { lookAtMemoryEveryMs, watchMachineMemory } from '#src/platform/machine-memory.ts';
import {
  lackedMemorySince,
  memoryFilesHere,
  memoryKillsSince,
  needsMachine,
  readMemoryAccount,
} from '#src/platform/memory-account.ts';
import type { Config } from '../config.ts';
import { hasProcessOf } from '../processes/process-table.ts';
import { WireError } from '../wire-error.ts';
import { ReadError } from './reader.ts';

/*
 * A reader, a helper or a grader cannot start, or is killed, if memory or processes run short: in the sandbox, which is the policy's
 * doing, or on the machine. The errno is the same, so the kernel's account of the sandbox decides, and without proof it is LOST. If ids
 * cannot be switched, the policy can end these processes itself: that leaves no proof, and the gateway marks what is LOST.
 */

export type ShortageWatch = {
  /** Replaces an error by LOST if the sandbox's own account shows no shortage. */
  readonly orLost: (error: unknown) => unknown;
  readonly end: () => void;
};

/** Starts watching the sandbox's account, and the machine's memory if that may have to be ruled out. */
export function watchShortage(config: Config): ShortageWatch {
  const files = memoryFilesHere(config.cgroupEvents);
  const before = files && readMemoryAccount(files);
  const { look, hadRoom } = watchMachineMemory();
  const timer = files !== null && needsMachine(files) ? setInterval(look, lookAtMemoryEveryMs) : undefined;
  const isOwn = (errno: string): boolean => {
    if (errno === 'EAGAIN') return mayFillPlaces(config);
    if (files === null) return false;
    if (errno === 'ENOMEM') return lackedMemorySince(before, files, hadRoom);
    // The kernel kills for memory with no other signal. A full disk is no proof: the policy's limit is not that of the disk.
    return errno === 'SIGKILL' && memoryKillsSince(before, files, hadRoom)?.lackedBy === 'sandbox';
  };
  const orLost = (error: unknown) => {
    const errno = shortageIn(error);
    if (errno === null || isOwn(errno)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new ReadError('LOST', `${reason}; the sandbox's own account shows no shortage`);
  };
  return { orLost, end: () => clearInterval(timer) };
}

/**
 * Whether the policy may hold all places for processes. If its processes are limited, there is a place beyond that limit. If none of them
 * lives, it holds none. Where ids are one, nothing tells its processes.
 */
function mayFillPlaces({ userMode, policyProcesses, policyUid }: Config): boolean {
  if (userMode !== 'two-user' || policyProcesses !== null) return false;
  return hasProcessOf(policyUid);
}

/** What ran short (an errno), or the signal that ended the reader or helper; null for any other failure. */
export function shortageIn(error: unknown): string | null {
  // EAGAIN of a read is a file that another process holds.
  if (error instanceof ReadError)
    return error.code === 'ENOMEM' || error.code.startsWith('SIG') ? error.code : null;
  if (!(error instanceof WireError) || (error.code !== 'internal' && error.code !== 'file_error'))
    return null;
  const { errno = '' } = error;
  return wanted.has(errno) || errno.startsWith('SIG') ? errno : null;
}

const wanted: ReadonlySet<string> = new Set(['ENOMEM', 'EAGAIN', 'ENOSPC']);
