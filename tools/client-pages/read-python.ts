import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Exported } from './exported.ts';

const Answer = Type.Array(
  Type.Object({ name: Type.String(), text: Type.String(), declaration: Type.String() }),
);
const root = join(import.meta.dirname, '../..');

/** What the Python client exports, read by Python's own parser. */
export function readPython(): readonly Exported[] {
  const script = join(import.meta.dirname, 'read-exports.py');
  const init = join(root, 'clients/python/src/corral/__init__.py');
  return Value.Parse(Answer, JSON.parse(execFileSync('python3', [script, init], { encoding: 'utf8' })));
}
