import { describe, expect, it } from 'vitest';
import { systemCalls } from '#services/node/seccomp/system-calls.ts';
import { verdictOf, verdicts } from '#test/support/seccomp-verdict.ts';
import { auditOf, type Instruction, programFilter } from './system-call-filter.ts';

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.set([ifTrue, ifFalse], index * 8 + 2);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}

const { allowed, refused, unknown, invalid, noProtocol } = verdicts;

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
    ['socket', [16, 3, 0], allowed],
    ['socket', [16, 3, 16], noProtocol],
    ['socketpair', [16, 3, 2], noProtocol],
    ['socket', [2, 1, 6], allowed],
  ] as const)('%s with %j: %s', (name, args, verdict) => {
    expect(call(name, ...args)).toBe(verdict);
  });

  it('leaves every other call to the filters of the machine', () => {
    const ruled = new Set(['fcntl', 'clone', 'clone3', 'socket', 'socketpair']);
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
