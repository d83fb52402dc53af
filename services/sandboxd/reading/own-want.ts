import {
  lackedMemorySince,
  memoryFilesHere,
  memoryKillsSince,
  readMemoryAccount,
} from '#src/platform/memory-account.ts';
import type { Config } from '../config.ts';
import { WireError } from '../wire-error.ts';
import { ReadError } from './reader.ts';

/*
 * Why a reader could not be started, or was ended: because the sandbox is full, which is the policy's doing, or because the machine
 * is. The policy has no other way to it, so the kernel's account of the sandbox decides. No account is no proof.
 */

/** Returns what an error that comes from now on is: itself, or LOST if nothing shows that the sandbox brought it about. */
export function ownWantsFrom(config: Config): (error: unknown) => unknown {
  const files = memoryFilesHere(config.cgroupEvents);
  const before = files && readMemoryAccount(files);
  const isOwn = (errno: string): boolean => {
    // Who has its id can do anything to it.
    if (config.userMode !== 'two-user') return true;
    // A limit of the policy's processes leaves room for the reader.
    if (errno === 'EAGAIN') return config.policyProcesses === null;
    if (files === null) return false;
    if (errno === 'ENOMEM') return lackedMemorySince(before, files);
    return memoryKillsSince(before, files)?.lackedBy === 'sandbox';
  };
  return (error) => {
    const errno = wantIn(error);
    if (errno === null || isOwn(errno)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new ReadError('LOST', `${reason}; by its own account the sandbox was not full`);
  };
}

/** What the reader lacked, or the signal that ended it; null for any other failure. */
export function wantIn(error: unknown): string | null {
  if (error instanceof ReadError)
    return error.code === 'ENOMEM' || error.code.startsWith('SIG') ? error.code : null;
  const hasNotStarted = error instanceof WireError && error.code === 'internal';
  return hasNotStarted && (error.errno === 'ENOMEM' || error.errno === 'EAGAIN') ? error.errno : null;
}
