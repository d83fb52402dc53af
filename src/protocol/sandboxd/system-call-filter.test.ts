import { describe, expect, it } from 'vitest';
import { systemCalls } from '#services/node/seccomp/system-calls.ts';
import { verdictOf, verdicts } from '#test/support/seccomp-verdict.ts';
import { auditOf, type Instruction, programFilter, socketsFilter } from './system-call-filter.ts';

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.set([ifTrue, ifFalse], index * 8 + 2);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}

const { allowed, refused, unknown, invalid, noProtocol, done, asked } = verdicts;

describe.each(['x64', 'arm64'] as const)('the filter of programs on %s', (architecture) => {
  const program = encode(programFilter(architecture));
  const audit = auditOf[architecture];
  const call = (wanted: string, ...args: readonly number[]) => {
    const number = systemCalls.find(({ name }) => name === wanted)?.[architecture];
    if (number === null || number === undefined) throw new Error(`${architecture} has no ${wanted}`);
    return verdictOf(program, { audit, number, args });
  };

  it.each([
    ['fcntl', [3, 1024], invalid],
    ['fcntl', [3, 1040], invalid],
    ['fcntl', [3, 2, 1], allowed],
    ['clone', [0x8011], refused],
    ['clone', [0x11], allowed],
    ['clone', [0x1000_0011], allowed],
    ['clone3', [], unknown],
    ['io_setup', [128], unknown],
    ['socket', [16, 3, 0], allowed],
    ['socket', [16, 3, 16], noProtocol],
    ['socketpair', [16, 3, 2], noProtocol],
    ['socket', [2, 1, 6], allowed],
    ['setsockopt', [3, 1, 8], done],
    ['setsockopt', [3, 1, 33], done],
    ['setsockopt', [3, 1, 7], allowed],
    ['setsockopt', [3, 6, 8], allowed],
  ] as const)('%s with %j: %s', (name, args, verdict) => {
    expect(call(name, ...args)).toBe(verdict);
  });

  it('leaves every other call to the filters of the machine', () => {
    const ruled = new Set(['fcntl', 'clone', 'clone3', 'io_setup', 'socket', 'socketpair', 'setsockopt']);
    const others = systemCalls.filter((each) => each[architecture] !== null && !ruled.has(each.name));
    expect(others.filter(({ name }) => call(name) !== allowed)).toEqual([]);
  });

  it('knows no call of another architecture or of x32', () => {
    const other = auditOf[architecture === 'x64' ? 'arm64' : 'x64'];
    for (const from of [
      { audit: other, number: 0 },
      { audit: 0x4000_0003, number: 11 },
      { audit, number: 0x4000_0000 },
    ])
      expect(verdictOf(program, from)).toBe(unknown);
  });
});

describe.each(['x64', 'arm64'] as const)('the filter of limit-sockets on %s', (architecture) => {
  const program = encode(socketsFilter(architecture));
  const audit = auditOf[architecture];
  const verdict = (name: string, ...args: readonly number[]) =>
    verdictOf(program, {
      audit,
      number: systemCalls.find((each) => each.name === name)?.[architecture] ?? -1,
      args,
    });

  it.each([
    ['socket', [2, 1, 0], asked],
    ['socket', [10, 2, 0], asked],
    ['socket', [16, 3, 0], asked],
    ['socket', [1, 1, 0], allowed],
    ['connect', [3], asked],
    ['socketpair', [1, 1, 0], allowed],
    ['accept4', [3], allowed],
    ['bind', [3], allowed],
  ] as const)('%s with %j: %s', (name, args, expected) => {
    expect(verdict(name, ...args)).toBe(expected);
  });

  it('leaves calls of another architecture to the other filters', () => {
    const other = auditOf[architecture === 'x64' ? 'arm64' : 'x64'];
    expect(verdictOf(program, { audit: other, number: 42 })).toBe(allowed);
  });
});
