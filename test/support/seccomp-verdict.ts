/** What a filter of system calls may answer. */
export const verdicts = {
  allowed: 'allowed',
  refused: 'EPERM',
  unknown: 'ENOSYS',
  invalid: 'EINVAL',
  noProtocol: 'EPROTONOSUPPORT',
  /** Nothing happens, and the call succeeds. */
  done: 'done',
  /** Another program decides. */
  asked: 'asked',
} as const;

const verdictAt = new Map<number, string>([
  [0x7fff_0000, verdicts.allowed],
  [0x7fc0_0000, verdicts.asked],
  [0x0005_0000, verdicts.done],
  [0x0005_0001, verdicts.refused],
  [0x0005_0016, verdicts.invalid],
  [0x0005_0026, verdicts.unknown],
  [0x0005_005d, verdicts.noProtocol],
]);

type Call = { readonly audit: number; readonly number: number; readonly args?: readonly number[] };

/** What the kernel makes of the bytes: the few instructions of classic BPF that Corral's filters have. */
export function verdictOf(program: Buffer, { audit, number, args = [] }: Call): string {
  const words = new Map([
    [0, number],
    [4, audit],
    ...args.map((arg, index): [number, number] => [16 + 8 * index, arg]),
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const operand = program.readUInt32LE(at + 4);
    const jump = (taken: boolean) => (at += 8 * program.readUInt8(at + (taken ? 2 : 3)));
    switch (program.readUInt16LE(at)) {
      case 0x20:
        accumulator = words.get(operand) ?? 0;
        break;
      case 0x15:
        jump(accumulator === operand);
        break;
      case 0x35:
        jump(accumulator >= operand);
        break;
      case 0x45:
        jump((accumulator & operand) !== 0);
        break;
      case 0x05:
        at += 8 * operand;
        break;
      case 0x06:
        return verdictAt.get(operand) ?? `0x${operand.toString(16)}`;
      default:
        throw new Error(`an instruction that no filter has: ${program.readUInt16LE(at)}`);
    }
  }
  throw new Error('the program ends without a verdict');
}
