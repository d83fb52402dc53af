import { table } from '../print/table.ts';

/** What was looked at, and what to do about it. */
export type Finding = {
  readonly what: string;
  /** `note`: it works, with a limit to know of. */
  readonly state: 'ok' | 'note' | 'problem';
  /** In a sentence. */
  readonly seen: string;
  /** Null: nothing to do. */
  readonly fix: string | null;
};

export const ok = (what: string, seen: string): Finding => ({ what, state: 'ok', seen, fix: null });
export const note = (what: string, seen: string, fix: string | null = null): Finding => ({
  what,
  state: 'note',
  seen,
  fix,
});
export const problem = (what: string, seen: string, fix: string): Finding => ({
  what,
  state: 'problem',
  seen,
  fix,
});

export type Diagnosis = { readonly ok: boolean; readonly findings: readonly Finding[] };

export const diagnosisOf = (findings: readonly Finding[]): Diagnosis => ({
  ok: findings.every(({ state }) => state !== 'problem'),
  findings,
});

const marks = { ok: 'ok', note: 'note', problem: 'PROBLEM' } as const;

export function describeDiagnosis({ findings }: Diagnosis): string {
  const lines = table(findings, [
    { title: '', of: ({ state }) => marks[state] },
    { title: 'looked at', of: ({ what }) => what },
    { title: 'seen', of: ({ seen }) => seen },
  ]);
  const fixes = findings.flatMap(({ what, fix }) => (fix === null ? [] : [`  ${what}: ${fix}`]));
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const verdict =
    problems === 0 ? 'No problem was found.' : `${problems} of ${findings.length} are problems.`;
  return [lines, '', ...(fixes.length === 0 ? [] : ['What to do:', ...fixes, '']), verdict].join('\n');
}
