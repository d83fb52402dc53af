import {
  allow,
  argument,
  type Architecture as Machine,
  auditOf,
  cloneParent,
  flagsRefused,
  ifEqual,
  ifAtLeast,
  type Instruction,
  leasesRefused,
  load,
  netlinkLimited,
  offsets,
  receiveBufferKept,
  refuse,
  unknown,
} from '#src/protocol/sandboxd/system-call-filter.ts';
import { type SystemCall, systemCalls } from './system-calls.ts';

/**
 * The filter of system calls as the kernel takes it: a program of classic BPF, which looks at architecture, number and
 * arguments of a call and returns what becomes of it. Calls of another architecture (i386, x32) and numbers that are
 * nobody's answer ENOSYS, so that a program takes the kernel for an older one; what is refused answers EPERM.
 */
export function compileFilter(architecture: string): Buffer {
  const known = architectures[architecture];
  if (known === undefined) {
    throw new Error(`sandboxes need a filter of system calls, and there is none for ${architecture}`);
  }
  const { audit, numberOf } = known;
  return encode([
    [load, 0, 0, offsets.architecture],
    [ifEqual, 1, 0, audit],
    unknown,
    [load, 0, 0, offsets.number],
    ...tree(partsOf(numberOf)),
  ]);
}

type Architecture = {
  /** As the kernel names it in `seccomp_data`: AUDIT_ARCH_*. */
  readonly audit: number;
  readonly numberOf: (call: SystemCall) => number | null;
};

const architectures: Readonly<Record<string, Architecture>> = {
  x64: { audit: auditOf.x64, numberOf: ({ x64 }) => x64 },
  arm64: { audit: auditOf.arm64, numberOf: ({ arm64 }) => arm64 },
} satisfies Record<Machine, Architecture>;

const jump = 0x05;

/** Unix, IPv4, IPv6 and netlink, which asks for one's own addresses; not vsock, which no network namespace holds back. */
const families = [1, 2, 10, 16];

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWTIME is for calls that are not allowed. */
const newNamespaces = 0x7e02_0000;

/** Linux, with 32-bit addresses, as uname 2.6, both; and the question which one it is. */
const personalities = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

const byArguments: Readonly<Record<string, readonly Instruction[]>> = {
  fcntl: leasesRefused,
  clone: flagsRefused(newNamespaces | cloneParent),
  socket: onlyOf(families, netlinkLimited),
  socketpair: onlyOf(families, netlinkLimited),
  setsockopt: receiveBufferKept,
  personality: onlyOf(personalities),
};

/** `otherwise`: what becomes of a call whose first argument is one of these. */
function onlyOf(
  values: readonly number[],
  otherwise: readonly Instruction[] = [allow],
): readonly Instruction[] {
  const checks = values.map((value, index): Instruction => [ifEqual, values.length - index, 0, value]);
  return [[load, 0, 0, argument(0)], ...checks, refuse, ...otherwise];
}

/** What becomes of the numbers from `from` on, to the next part. */
type Part = { readonly from: number; readonly fate: readonly Instruction[] };

/** All numbers that there are, in order; neighbours of one fate are one part. */
function partsOf(numberOf: Architecture['numberOf']): readonly Part[] {
  const given = new Map(systemCalls.map((call) => [numberOf(call), fateOf(call)]));
  const newest = Math.max(...[...given.keys()].filter((number) => number !== null));
  const each = Array.from({ length: newest + 2 }, (_, from) => ({ from, fate: given.get(from) ?? nobodys }));
  return each.filter(({ fate }, index) => each[index - 1]?.fate !== fate);
}

const nobodys: readonly Instruction[] = [unknown];
const fates = { allow: [allow], refuse: [refuse], unknown: nobodys } as const;

function fateOf({ name, rule }: SystemCall): readonly Instruction[] {
  return rule === 'arguments' ? (byArguments[name] ?? fates.refuse) : fates[rule];
}

/** Finds the part by halves; every way through it ends in a `give`. */
function tree(parts: readonly Part[]): readonly Instruction[] {
  const middle = Math.floor(parts.length / 2);
  const first = parts[middle];
  if (middle === 0 || first === undefined) return first?.fate ?? nobodys;
  const low = tree(parts.slice(0, middle));
  const high = tree(parts.slice(middle));
  // A conditional jump reaches 255 instructions.
  return low.length <= 255
    ? [[ifAtLeast, low.length, 0, first.from], ...low, ...high]
    : [[ifAtLeast, 0, 1, first.from], [jump, 0, 0, low.length], ...low, ...high];
}

/** `struct sock_filter`, eight bytes each, little endian as both architectures are. */
function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}
