import { machineProgram } from './machine-program.ts';

/**
 * A program of the payload that closes every descriptor from FIRST on, then becomes another program in the same process.
 *
 *   close-from FIRST PATH NAME ARGUMENT…     FIRST is one digit; 127 = PATH cannot be run
 *
 * Node's threads open some files without close-on-exec: one of them reads the certificates to trust, at any moment after
 * the start. A check before the fork always leaves a gap, and a child that closes what it got does not. A shell cannot
 * name a descriptor above 9.
 */
export function closeFromProgram(arch: string): Buffer {
  return machineProgram(arch, {
    x64: [
      '488b742410 0fb63e 83ef30', // edi = FIRST, as a number
      '6aff 5e 31d2 b8b4010000 0f05', // close_range(FIRST, all, 0)
      '488b0c24', // rcx = the number of arguments
      '488b7c2418 488d742420 488d54cc10', // PATH; from NAME on; the environment
      'b83b000000 0f05', // execve: returns only when it failed
      'bf7f000000 b83c000000 0f05', // exit(127)
    ],
    arm64: [
      [0xf9400be9, 0x39400120, 0x5100c000], // w0 = FIRST, as a number
      [0x92800001, 0xd2800002, 0xd2803688, 0xd4000001], // close_range, 436
      [0xf94003e9, 0xf9400fe0, 0x910083e1, 0x910043e2, 0x8b090c42], // x9, PATH, from NAME on, the environment
      [0xd2801ba8, 0xd4000001], // execve, 221
      [0xd2800fe0, 0xd2800ba8, 0xd4000001], // exit, 93
    ],
  });
}
