import { join } from 'node:path';
import { payloadLayout } from '#src/protocol/sandboxd/payload-layout.ts';
import { buildOnce } from './build-once.ts';
import { bundleSandboxd } from './bundle.ts';
import { nativeFile } from './native/compile.ts';
import type { Built } from './publish-once.ts';
import { copyRuntime } from './runtime.ts';

/** All that is bundled into the payload, and how. */
const sources = [
  'services/sandboxd/**/*.ts',
  'services/terminals/*.ts',
  'services/browser/*.ts',
  'package-lock.json',
  'src/protocol/sandboxd/**/*.ts',
  'src/platform/memory-account.ts',
  'src/platform/machine-memory.ts',
  'infra/payload/*.ts',
  'infra/payload/native/*',
];

/** Makes the folder that is mounted, read-only, into every sandbox, or finds it below `targetDir`. */
export function buildPayload(targetDir: string): Promise<Built> {
  return buildOnce(targetDir, {
    name: 'payload',
    sources,
    build: (dir) =>
      Promise.all([
        bundleSandboxd(join(dir, payloadLayout.code)),
        copyRuntime(dir, (program) => nativeFile(program, process.arch)),
      ]),
  });
}
