import { machineProgram } from './machine-program.ts';

/**
 * A program of the payload that closes every descriptor but 0 to 2, makes itself nicer, which everybody may, and becomes the
 * program that it is given, in the same process.
 *
 *   behind PATH NAME ARGUMENT…     NAME is what the program is told that it is called; 127 = PATH cannot be run
 *
 * Only a program can do it: sandboxd may not lower another user's process afterwards, nor take back what it lowers of its own.
 */
export function behindProgram(arch: string, nicer = steps): Buffer {
  // A new process finds on its stack: how many arguments, each of them, a zero, its environment.
  return machineProgram(arch, {
    x64: [
      '6a03 5f 6aff 5e 31d2 b8b4010000 0f05', // close_range(3, all, 0); an old kernel does not know it
      `6a${nicer.toString(16).padStart(2, '0')} 5a 31ff 31f6 b88d000000 0f05`, // setpriority(PRIO_PROCESS, 0, steps)
      '488b0c24', // rcx = how many
      '488b7c2410 488d742418 488d54cc10', // PATH; from NAME on; the environment
      'b83b000000 0f05', // execve: comes back only when it failed
      'bf7f000000 b83c000000 0f05', // exit(127)
    ],
    arm64: [
      [0xd2800060, 0x92800001, 0xd2800002, 0xd2803688, 0xd4000001], // close_range, 436
      [0xd2800000, 0xd2800001, 0xd2800002 + 0x20 * nicer, 0xd2801188, 0xd4000001], // setpriority, 140
      [0xf94003e9, 0xf9400be0, 0x910063e1, 0x910043e2, 0x8b090c42], // x9, PATH, from NAME on, the environment
      [0xd2801ba8, 0xd4000001], // execve, 221
      [0xd2800fe0, 0xd2800ba8, 0xd4000001], // exit, 93
    ],
  });
}

/**
 * Ten steps of nice are a ninth of the CPU time beside somebody who took none: enough that sandboxd, which works for some
 * milliseconds at a time, is let in before hundreds of loops. No more, because where no control group keeps sandboxes
 * apart their commands shall not stand behind everything else of this machine.
 */
export const steps = 10;
