/**
 * A program of our own in machine code, since a payload runs where there is no compiler, no shell and nobody's library: it
 * makes itself nicer, which everybody may, and becomes the program that it is given, in the same process.
 *
 *   behind PATH NAME ARGUMENT…     NAME is what the program is told that it is called; 127 = PATH cannot be run
 *
 * Only a program can do it: sandboxd may not lower another user's process afterwards, nor take back what it lowers of its own.
 */
export function behindProgram(arch: string, nicer = steps): Buffer {
  const machine = machines[arch]?.(nicer);
  if (machine === undefined)
    throw new Error(`there is no payload for ${arch}: only for ${Object.keys(machines).join(', ')}`);
  const bytes = fileHeaderBytes + segmentHeaderBytes + machine.code.length;
  return Buffer.concat([fileHeader(machine.elfMachine), segmentHeader(bytes), machine.code]);
}

/**
 * Ten steps of nice are a ninth of the CPU time beside somebody who took none: enough that sandboxd, which works for some
 * milliseconds at a time, is let in before hundreds of loops. No more, because where no control group keeps sandboxes
 * apart their commands shall not stand behind everything else of this machine.
 */
export const steps = 10;

function words(...all: readonly (readonly number[])[]): Buffer {
  const code = Buffer.alloc(4 * all.flat().length);
  for (const [index, word] of all.flat().entries()) code.writeUInt32LE(word, 4 * index);
  return code;
}

type Machine = { readonly elfMachine: number; readonly code: Buffer };

/** A new process finds on its stack: how many arguments, each of them, a zero, its environment. */
const machines: Readonly<Record<string, (nicer: number) => Machine>> = {
  x64: (nicer) => ({
    elfMachine: 62,
    code: Buffer.from(
      [
        `6a${nicer.toString(16).padStart(2, '0')} 5a 31ff 31f6 b88d000000 0f05`, // setpriority(PRIO_PROCESS, 0, steps)
        '488b0c24', // rcx = how many
        '488b7c2410 488d742418 488d54cc10', // PATH; from NAME on; the environment
        'b83b000000 0f05', // execve: comes back only when it failed
        'bf7f000000 b83c000000 0f05', // exit(127)
      ]
        .join('')
        .replaceAll(' ', ''),
      'hex',
    ),
  }),
  arm64: (nicer) => ({
    elfMachine: 183,
    code: words(
      [0xd2800000, 0xd2800001, 0xd2800002 + 0x20 * nicer, 0xd2801188, 0xd4000001], // setpriority, 140
      [0xf94003e9, 0xf9400be0, 0x910063e1, 0x910043e2, 0x8b090c42], // x9, PATH, from NAME on, the environment
      [0xd2801ba8, 0xd4000001], // execve, 221
      [0xd2800fe0, 0xd2800ba8, 0xd4000001], // exit, 93
    ),
  }),
};

const fileHeaderBytes = 64;
const segmentHeaderBytes = 56;
/** Anywhere above the first pages, which nobody may map. */
const loadAddress = 0x400000n;

/** ELF: 64 bit, little endian, version 1, System V; an executable with one segment and no sections. */
function fileHeader(elfMachine: number): Buffer {
  const header = Buffer.alloc(fileHeaderBytes);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(elfMachine, 18);
  header.writeUInt32LE(1, 20);
  header.writeBigUInt64LE(loadAddress + BigInt(fileHeaderBytes + segmentHeaderBytes), 24);
  header.writeBigUInt64LE(BigInt(fileHeaderBytes), 32);
  header.writeUInt16LE(fileHeaderBytes, 52);
  header.writeUInt16LE(segmentHeaderBytes, 54);
  header.writeUInt16LE(1, 56);
  return header;
}

/** The whole file, to be read and run, never written. */
function segmentHeader(bytes: number): Buffer {
  const header = Buffer.alloc(segmentHeaderBytes);
  header.writeUInt32LE(1, 0);
  header.writeUInt32LE(5, 4);
  header.writeBigUInt64LE(loadAddress, 16);
  header.writeBigUInt64LE(loadAddress, 24);
  header.writeBigUInt64LE(BigInt(bytes), 32);
  header.writeBigUInt64LE(BigInt(bytes), 40);
  header.writeBigUInt64LE(0x10000n, 48);
  return header;
}
