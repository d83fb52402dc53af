import { watchMachineMemory } from '#src/platform/machine-memory.ts';
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
 * A reader cannot start, or is killed, if memory or processes run short: in the sandbox, which is the policy's doing, or on the
 * machine. The policy cannot end a reader in any other way, so the kernel's account of the sandbox decides. Without an account
 * nothing is proven.
 */

/** Starts watching the account. The returned function replaces an error by LOST if the sandbox's own account shows no shortage. */
export function watchShortage(config: Config): (error: unknown) => unknown {
  const files = memoryFilesHere(config.cgroupEvents);
  const before = files && readMemoryAccount(files);
  const { hadRoom } = watchMachineMemory();
  const isOwn = (errno: string): boolean => {
    // With the same id the policy can do anything to the reader.
    if (config.userMode !== 'two-user') return true;
    // If the policy's processes are limited, the reader has a place beyond that limit.
    if (errno === 'EAGAIN') return config.policyProcesses === null;
    if (files === null) return false;
    if (errno === 'ENOMEM') return lackedMemorySince(before, files, hadRoom);
    return memoryKillsSince(before, files, hadRoom)?.lackedBy === 'sandbox';
  };
  return (error) => {
    const errno = shortageIn(error);
    if (errno === null || isOwn(errno)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return new ReadError('LOST', `${reason}; the sandbox's own account shows no shortage`);
  };
}

/** What ran short (an errno), or the signal that ended the reader; null for any other failure. */
export function shortageIn(error: unknown): string | null {
  if (error instanceof ReadError)
    return error.code === 'ENOMEM' || error.code.startsWith('SIG') ? error.code : null;
  const hasNotStarted = error instanceof WireError && error.code === 'internal';
  return hasNotStarted && (error.errno === 'ENOMEM' || error.errno === 'EAGAIN') ? error.errno : null;
}
