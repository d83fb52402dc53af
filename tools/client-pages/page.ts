import { wrapped } from '../failures-page/markdown.ts';
import type { Exported } from './exported.ts';
import { readPython } from './read-python.ts';
import { readTypescript } from './read-typescript.ts';

/** docs/clients/python-api.md, whole. */
export const pythonPage = (): string =>
  page(
    'Python API',
    'write-python-page',
    'Every name that `corral` exports. `corral.sync` has `Client`, `Rollout` and `Running` with the same methods without `async`. [The Python client](python.md) shows how to use them.',
    'python',
    readPython(),
  );

/** docs/clients/typescript-api.md, whole. */
export const typescriptPage = (): string =>
  page(
    'TypeScript API',
    'write-typescript-page',
    'Every name that `corral-client` exports, and at the end the types that these consist of. [The TypeScript client](typescript.md) shows how to use them.',
    'ts',
    readTypescript(),
  );

function page(
  title: string,
  tool: string,
  intro: string,
  language: string,
  names: readonly Exported[],
): string {
  const parts = names.flatMap(({ name, text, declaration }) => [
    `## ${name}`,
    ...(text === '' ? [] : text.split('\n\n').map((paragraph) => wrapped(paragraph.replaceAll('\n', ' ')))),
    `\`\`\`${language}\n${declaration}\n\`\`\``,
  ]);
  const comment = `<!-- Written by tools/${tool}.ts from the client's source. Change it there. -->`;
  return `${[comment, `# ${title}`, wrapped(intro), ...parts].join('\n\n')}\n`;
}
