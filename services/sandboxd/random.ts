import { closeSync, openSync, readSync } from 'node:fs';

/** So many random bytes of the kernel's as hex, without the start's dearest module; with it where there is no such device. */
export function randomHex(bytes: number): string {
  try {
    return fromKernel(bytes).toString('hex');
  } catch {
    return process.getBuiltinModule('node:crypto').randomBytes(bytes).toString('hex');
  }
}

function fromKernel(bytes: number): Buffer {
  const device = openSync('/dev/urandom', 'r');
  try {
    const random = Buffer.alloc(bytes);
    if (readSync(device, random) !== bytes) throw new Error('the kernel gave too few');
    return random;
  } finally {
    closeSync(device);
  }
}
