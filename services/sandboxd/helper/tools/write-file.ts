import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ToolArguments } from './tool-arguments.ts';

/** `{path, content}`: replaces or creates a file, and the folders above it. */
export function* writeFile(values: ToolArguments): Iterable<string> {
  const path = values.text('path');
  const content = values.text('content');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  yield `wrote ${Buffer.byteLength(content)} bytes to ${path}\n`;
}
