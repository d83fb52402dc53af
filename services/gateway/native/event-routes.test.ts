import { describe, expect, test } from 'vitest';
import type { Scope } from '#src/access/keys.ts';
import { toldLines } from './event-routes.ts';

const verdict = { kind: 'verdict', score: 0, why: { item: '{"answer":"42"}', stderr: 'expected 42' } };
const lines = [
  `${JSON.stringify({ kind: 'call_settled', lastCommand: 'echo \\"why\\":' })}\n`,
  `${JSON.stringify(verdict)}\n`,
  '{"why": broken 42\n',
];

async function* written() {
  yield* lines;
}

async function told(of: 'rollout' | 'run' | 'verdicts', scopes: readonly Scope[]): Promise<string> {
  let text = '';
  for await (const line of toldLines(written(), of, scopes)) text += line;
  return text;
}

describe('why a rollout has its score', () => {
  test.each(['rollout', 'verdicts'] as const)(
    'is told, where a %s is asked for, to the key that looks after the tenant',
    async (of) => {
      expect(await told(of, ['admin'])).toBe(lines.join(''));
      expect(await told(of, ['watch', 'truth'])).toBe(lines.join(''));
    },
  );

  test.each<[string, 'rollout' | 'run' | 'verdicts', readonly Scope[]]>([
    ['a key that only watches', 'rollout', ['watch', 'fleet']],
    ['a key that plays rollouts', 'rollout', ['native', 'rft:tools', 'rft:grade', 'fleet']],
    ['one that reads the verdicts of a run', 'verdicts', ['native', 'rft:tools', 'rft:grade', 'fleet']],
    ['whoever reads a whole run', 'run', ['admin']],
  ])('is not told to %s, who gets all else', async (_who, of, scopes) => {
    const text = await told(of, scopes);
    expect(text).not.toContain('42');
    const [call, event] = text
      .split('\n')
      .map((line) => (line === '' ? null : (JSON.parse(line) as unknown)));
    expect(call).toEqual({ kind: 'call_settled', lastCommand: 'echo \\"why\\":' });
    expect(event).toEqual({ kind: 'verdict', score: 0 });
  });
});

test.each(['rollout', 'run'] as const)(
  'text of a policy in the events of a %s is no order to a terminal, and stays the same data',
  async (of) => {
    const event = { kind: 'verdict', evidence: { said: '\u009B2J\u202Etxt\u2066\u061C' }, why: {} };
    async function* older() {
      yield `${JSON.stringify(event)}\n`;
    }
    const text = (await Array.fromAsync(toldLines(older(), of, ['admin']))).join('');
    expect(text).toMatch(/^[ -~]*\n$/);
    expect(JSON.parse(text)).toMatchObject({ evidence: event.evidence });
  },
);
