import type { Environment, Tool } from '#src/model/environment.ts';
import { itemFieldOf, splitAtPlaceholders } from '#src/model/placeholder.ts';
import { itemParameter } from '#src/tools/action.ts';
import type { Report } from '../mistakes.ts';
import type { IndexYaml } from '../schema/environment.ts';
import { refuseDependency, type ToolInHand } from './dependency.ts';
import { compileParameters, parameterNames, textParameters } from './parameters.ts';

const nothingFound = 'Nothing found.';

/** A tool that is a query of a database: the SQL is the author's, and what the model writes is only ever bound to it. */
export function indexTool(inHand: ToolInHand, yaml: IndexYaml, timeoutMs: number): Tool {
  const { name, yaml: tool, place, report } = inHand;
  refuseDependency(inHand, 'a query depends on nothing outside of its sandbox');
  if (!/^\s*(?:select|with)\b/i.test(yaml.sql)) {
    report(
      [...place, 'index', 'sql'],
      'must be one SELECT, or WITH … SELECT: a database is read, never written',
    );
  }
  const named = namesIn(yaml.sql);
  const items = new Set(inHand.expose.map(itemParameter));
  const parameters =
    tool.parameters === undefined
      ? textParameters(named.filter((each) => !items.has(each)))
      : compileParameters(tool.parameters, [...place, 'parameters'], report);
  const known = parameterNames(parameters);
  const unknown = named.find((each) => !known.includes(each) && !items.has(each));
  if (unknown !== undefined) {
    report(
      [...place, 'index', 'sql'],
      `uses :${unknown}, which is neither a parameter here nor an exposed field of the row (:item_FIELD)`,
    );
  }
  const clash = known.find((each) => items.has(each));
  if (clash !== undefined) {
    report(
      [...place, 'parameters', clash],
      'is what an exposed field of the row is called in SQL; name it otherwise',
    );
  }
  return {
    name,
    description: tool.description ?? `Looks ${named.join(' and ')} up and returns what is found.`,
    parameters,
    timeoutMs,
    run: {
      kind: 'index',
      database: yaml.database,
      sql: yaml.sql,
      each: yaml.each === undefined ? null : partsOf(yaml.each, inHand),
      none: yaml.none ?? nothingFound,
    },
  };
}

function partsOf(each: string, { place, report }: ToolInHand): readonly string[] {
  const parts = splitAtPlaceholders(each);
  const field = parts.find((part, index) => index % 2 === 1 && itemFieldOf(part) !== null);
  if (field !== undefined) {
    report(
      [...place, 'index', 'each'],
      `names {${field}}, and it has the columns of a row only; select it in the SQL`,
    );
  }
  return parts;
}

/** Names of the SQL's parameters, outside of its texts and remarks. */
function namesIn(sql: string): readonly string[] {
  return [...new Set([...bareOf(sql).matchAll(/:([A-Za-z_]\w*)/g)].map(([, name = '']) => name))];
}

function bareOf(sql: string): string {
  let bare = '';
  for (let at = 0; at < sql.length;) {
    const ending = endings.find(([start]) => sql.startsWith(start, at));
    if (ending === undefined) bare += sql[at++];
    else {
      const [start, end] = ending;
      const found = sql.indexOf(end, at + start.length);
      at = found === -1 ? sql.length : found + end.length;
      bare += ' ';
    }
  }
  return bare;
}

/** How texts and remarks begin and end. A quote within one is two, and so two texts, one after the other. */
const endings = [
  ["'", "'"],
  ['"', '"'],
  ['--', '\n'],
] as const;

/** What the policy may write is no database: it would choose what its own calls find, and what is found may be paid for. */
export function checkIndexes(
  { template, tools }: Pick<Environment, 'template' | 'tools'>,
  report: Report,
): void {
  const writable = ['/workspace', '/tmp', '/dev', '/proc', '/run', ...(template.folders ?? [])];
  for (const { name, run } of Object.values(tools)) {
    if (run.kind !== 'index') continue;
    const inside = writable.find((folder) => run.database.startsWith(`${folder}/`));
    const isData = template.data.some(({ target }) => run.database.startsWith(`${target}/`));
    if (inside !== undefined && !isData) {
      report(
        ['tools', name, 'index', 'database'],
        `is in ${inside}, where the policy writes; put it into sandbox.data`,
      );
    }
    if (template.runAs === 'root' || template.uid === 'single') {
      report(
        ['tools', name, 'index'],
        'needs commands and the process that answers it to have ids apart: leave run_as: root and uid: single out',
      );
    }
  }
}
