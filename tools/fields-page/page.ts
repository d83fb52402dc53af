import { table } from '../failures-page/markdown.ts';
import { environmentFields, type Field, limitFields, toolFields } from './fields.ts';

/** docs/environments/fields.md, whole. */
export function fieldsPage(): string {
  return `${[
    '<!-- Written by tools/write-fields-page.ts from tools/fields-page/fields.ts. Change it there. -->',
    '# Fields of an environment file',
    'Durations are `500ms`, `60s`, `30m`, `2h`. Bytes are `512Mi`, `1Gi`, `1G` or a number. Cores are `100m`, `0.5` or `2`. Paths of folders and files are relative to the YAML file. A command is a list, the program and its arguments; there is no shell unless you name one. A dash means that there is no default.',
    'An editor with a YAML language server shows the same texts. [Environments](../environments.md) has a first example.',
    '## Environment',
    ...partOf(environmentFields),
    '## Limits',
    ...partOf(limitFields),
    '## A tool',
    ...partOf(toolFields),
  ].join('\n\n')}\n`;
}

function partOf(fields: Readonly<Record<string, Field>>): readonly string[] {
  const entries = Object.entries(fields);
  const rows = entries.map(([name, field]) => [`\`${name}\``, field.default ?? '–', field.meaning]);
  const notes = entries.flatMap(([name, { more }]) => (more === undefined ? [] : [`- \`${name}\`: ${more}`]));
  const whole = table(['field', 'default', 'meaning'], rows);
  return notes.length === 0 ? [whole] : [whole, notes.join('\n')];
}
