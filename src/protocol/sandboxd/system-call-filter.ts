/*
 * What no program of a sandbox may ask the kernel for, on one machine and in pods. `node` has these rules in its filter for whole
 * sandboxes; `enter` installs a filter of these alone for each program that sandboxd starts.
 *
 *   leases of a file    EINVAL, as a kernel without them: a lease delays each process that opens or runs the file
 *   CLONE_PARENT        EPERM: the child would be sandboxd's, which reaps only processes that it started itself
 *   netlink beyond      EPROTONOSUPPORT: unread answers of other protocols take memory that no sandbox pays for; the first,
 *   protocol 0          NETLINK_ROUTE, has a machine's own addresses
 *   SO_RCVBUF           does nothing and succeeds: what a netlink socket has not read is charged to no sandbox
 *   io_setup            ENOSYS: contexts of asynchronous I/O are one number for the whole machine, and one program could take all of them
 *   clone3              ENOSYS: its flags are behind a pointer, which no filter can follow; libraries then use clone
 */

/** Code, jump if true, jump if false (both count instructions to leave out), operand: the kernel's `sock_filter`. */
export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

export const load = 0x20;
export const ifEqual = 0x15;
export const ifAtLeast = 0x35;
export const ifAnyBit = 0x45;
const give = 0x06;

/** Of the kernel's `seccomp_data`. */
export const offsets = { number: 0, architecture: 4 } as const;

/** Where an argument's low half is, which is all that the kernel reads of those we look at. */
export const argument = (index: number): number => 16 + 8 * index;

export const errno = (number: number): Instruction => [give, 0, 0, 0x0005_0000 | number];
export const allow: Instruction = [give, 0, 0, 0x7fff_0000];
export const refuse = errno(1);
export const unknown = errno(38);

/** AUDIT_ARCH_*: how the kernel names an architecture in `seccomp_data`. */
export const auditOf = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

export type Architecture = keyof typeof auditOf;

export const cloneParent = 0x8000;

/** F_SETLEASE, and F_SETDELEG, the same for folders. */
const [setLease, setDelegation] = [1024, 1040];

export const leasesRefused: readonly Instruction[] = [
  [load, 0, 0, argument(1)],
  [ifEqual, 1, 0, setLease],
  [ifEqual, 0, 1, setDelegation],
  errno(22),
  allow,
];

export const flagsRefused = (flags: number): readonly Instruction[] => [
  [load, 0, 0, argument(0)],
  [ifAnyBit, 0, 1, flags],
  refuse,
  allow,
];

const netlink = 16;

export const netlinkLimited: readonly Instruction[] = [
  [load, 0, 0, argument(0)],
  [ifEqual, 0, 3, netlink],
  [load, 0, 0, argument(2)],
  [ifEqual, 1, 0, 0],
  errno(93),
  allow,
];

const socketLevel = 1;
/** SO_RCVBUF, and SO_RCVBUFFORCE. */
const [receiveBuffer, forcedReceiveBuffer] = [8, 33];
const done = errno(0);

export const receiveBufferKept: readonly Instruction[] = [
  [load, 0, 0, argument(1)],
  [ifEqual, 0, 4, socketLevel],
  [load, 0, 0, argument(2)],
  [ifEqual, 1, 0, receiveBuffer],
  [ifEqual, 0, 1, forcedReceiveBuffer],
  done,
  allow,
];

type Ruled = {
  readonly number: Readonly<Record<Architecture, number>>;
  readonly rule: readonly Instruction[];
};

const ruled: readonly Ruled[] = [
  { number: { x64: 72, arm64: 25 }, rule: leasesRefused },
  { number: { x64: 56, arm64: 220 }, rule: flagsRefused(cloneParent) },
  { number: { x64: 435, arm64: 435 }, rule: [unknown] },
  { number: { x64: 206, arm64: 0 }, rule: [unknown] },
  { number: { x64: 41, arm64: 198 }, rule: netlinkLimited },
  { number: { x64: 53, arm64: 199 }, rule: netlinkLimited },
  { number: { x64: 54, arm64: 208 }, rule: receiveBufferKept },
];

const onlyFor = (number: number, rule: readonly Instruction[]): readonly Instruction[] => [
  [ifEqual, 0, rule.length, number],
  ...rule,
];

/** Calls of x32 have this bit; they would pass a filter that looks at x64's numbers only. */
const x32 = 0x4000_0000;

/** The filter of `enter`. Calls of another architecture do not exist, and what no rule names is allowed. */
export function programFilter(architecture: Architecture): readonly Instruction[] {
  return [
    [load, 0, 0, offsets.architecture],
    [ifEqual, 1, 0, auditOf[architecture]],
    unknown,
    [load, 0, 0, offsets.number],
    [ifAtLeast, 0, 1, x32],
    unknown,
    ...ruled.flatMap(({ number, rule }) => onlyFor(number[architecture], rule)),
    allow,
  ];
}

const notify: Instruction = [give, 0, 0, 0x7fc0_0000];

/** Of which unread or unfinished data may be charged to no sandbox: IPv4, IPv6, netlink. What UNIX sockets hold is charged. */
const uncharged = [2, 10, netlink];

const askedByFamily: readonly Instruction[] = [
  [load, 0, 0, argument(0)],
  ...uncharged.map((family, index): Instruction => [ifEqual, uncharged.length - index, 0, family]),
  allow,
  notify,
];

/** The filter of `limit-sockets`, which is asked before these calls. Whatever else a call is, another filter decides it. */
export function socketsFilter(architecture: Architecture): readonly Instruction[] {
  const [socket, connect] = { x64: [41, 42], arm64: [198, 203] }[architecture] as [number, number];
  return [
    [load, 0, 0, offsets.architecture],
    [ifEqual, 1, 0, auditOf[architecture]],
    allow,
    [load, 0, 0, offsets.number],
    ...onlyFor(connect, [notify]),
    ...onlyFor(socket, askedByFamily),
    allow,
  ];
}
