import { expect, test } from 'vitest';
import type { AttackReport } from './attack.ts';
import { boundFrom, judgeGate } from './gate.ts';

type Line = AttackReport['attacks'][number];

const line = (over: Partial<Line>): Line => ({
  attack: 'some',
  tries: 1,
  got: 0,
  state: 'withstood',
  detail: '',
  against: 'nothing',
  ...over,
});

const report = (over: Partial<AttackReport>): AttackReport => ({
  environment: 'a',
  ok: true,
  nothing: [0, 0],
  reference: [1, 1],
  attacks: [line({})],
  ...over,
});

test.each<[string, Partial<AttackReport>, readonly string[]]>([
  ['attacks that score nothing open it', {}, []],
  [
    'an attack that is not possible does not close it',
    { attacks: [line({ got: null, state: 'not possible' })] },
    [],
  ],
  ['an attack at the bound does not close it', { attacks: [line({ got: 0.1 })] }, []],
  [
    'an attack above the bound closes it',
    { attacks: [line({ got: 0.11, state: 'withstood' })] },
    ['some scores 0.110'],
  ],
  ['doing nothing for a score closes it', { nothing: [0, 0.2] }, ['doing nothing scores 0.200']],
  [
    'a part of the score for broken work does not close it, the full score does',
    {
      attacks: [
        line({ got: 0.5, against: 'reference' }),
        line({ got: 1, against: 'reference', state: 'hole', attack: 'broken-work' }),
      ],
    },
    ['broken-work scores 1.000'],
  ],
  [
    'a rollout without a score closes it',
    { attacks: [line({ state: 'lost' }), line({ state: 'hole', got: null })] },
    ['some: some of its rollouts have no score', 'some: its rollouts are discarded'],
  ],
  [
    'a reference that scores too little closes it',
    { reference: [1, 0.1] },
    ['the reference scores 0.100, which is not above the bound'],
  ],
  [
    'a reference without a score closes it',
    { reference: [1, null] },
    [expect.stringContaining('on 1 of 2 rows') as string],
  ],
])('%s', (_what, over, reasons) => {
  expect(judgeGate(report(over), 0.1)).toEqual({ bound: 0.1, open: reasons.length === 0, reasons });
});

test('a bound that no score can exceed, or that is no number, is refused', () => {
  expect(boundFrom('0.05')).toBe(0.05);
  for (const text of ['1', '-0.1', 'NaN', '', '5%']) expect(() => boundFrom(text)).toThrow('not a bound');
});
