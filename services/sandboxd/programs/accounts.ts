import { readFileSync } from 'node:fs';

export type AccountEntry = { readonly name: string; readonly uid: number; readonly home: string };

/** Those of /etc/passwd. An image without it has no users. */
export function accountsHere(): readonly AccountEntry[] {
  return passwd()
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length > 2)
    .map(([name = '', , uid, , , home = '']) => ({ name, uid: Number(uid), home }));
}

function passwd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}
