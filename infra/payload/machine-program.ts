/** One program for each machine: lines of hexadecimal bytes, or groups of 32-bit instructions. */
export type MachineCode = {
  readonly x64: readonly string[];
  readonly arm64: readonly (readonly number[])[];
};

/** Builds a whole executable file. A payload runs without a compiler, a shell or a library, so these programs need none. */
export function machineProgram(arch: string, code: MachineCode): Buffer {
  switch (arch) {
    case 'x64':
      return executable(62, Buffer.from(code.x64.join('').replaceAll(' ', ''), 'hex'));
    case 'arm64':
      return executable(183, wordsToBytes(code.arm64.flat()));
    default:
      throw new Error(`there is no payload for ${arch}: only for x64, arm64`);
  }
}

function wordsToBytes(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * words.length);
  for (const [index, word] of words.entries()) bytes.writeUInt32LE(word, 4 * index);
  return bytes;
}

function executable(elfMachine: number, code: Buffer): Buffer {
  const bytes = fileHeaderBytes + segmentHeaderBytes + code.length;
  return Buffer.concat([fileHeader(elfMachine), segmentHeader(bytes), code]);
}

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
