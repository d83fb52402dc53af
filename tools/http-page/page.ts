import { table } from '../failures-page/markdown.ts';
import { type Content, nameOf, type OpenApi, type Operation, type Schema } from './document.ts';
import { fieldLines, fieldNames, typeText } from './schema-text.ts';

type Route = { readonly method: string; readonly path: string; readonly operation: Operation };

const faces = [
  [
    'native',
    '## The native face',
    'For trainers that open, drive and close rollouts. [The native face](api.md) explains them.',
  ],
  [
    'rft',
    '## The RFT face',
    'For platforms of reinforcement fine-tuning. [Trainers](trainers.md) explains it.',
  ],
  [
    'e2b',
    '## The E2B face',
    'For clients of E2B; the same paths also exist below `/e2b/runs/{run}`. [E2B](clients/e2b.md) explains them.',
  ],
  ['operations', '## Operations', 'For operators and probes, without a key.'],
] as const;

/** docs/http-api.md, whole, from the OpenAPI document of a gateway. */
export function httpPage(document: OpenApi): string {
  const routes = routesOf(document);
  const shown = faces.flatMap(([face, heading, about]) => [
    heading,
    about,
    table(['request', 'does', 'body', 'answer'], routes.filter(isOf(face)).map(rowOf)),
  ]);
  const types = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
    typePart(name, schema),
  );
  return `${[...head, ...shown, '## Types', ...types].join('\n\n')}\n`;
}

const head = [
  '<!-- Written by tools/write-http-page.ts from the schemas that check requests. Change them there. -->',
  '# HTTP operations',
  'Every request has `authorization: Bearer KEY` and, unless the key has a default run, `x-corral-run: RUN`. `GET /openapi.json` returns the same as an OpenAPI 3.1 document, also for generators of clients. `?` marks what may be left out. Failures have [one body](api.md#failures).',
];

function routesOf({ paths }: OpenApi): readonly Route[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** The addresses of E2B exist twice: with and without a run. */
const isOf =
  (face: string) =>
  ({ path, operation }: Route): boolean =>
    operation.tags.includes(face) && !path.startsWith('/e2b/runs/');

function rowOf({ method, path, operation }: Route): readonly string[] {
  const queries = operation.parameters.filter((parameter) => parameter.in === 'query');
  const query = queries.length === 0 ? '' : `?${queries.map(({ name }) => `${name}=`).join('&')}`;
  return [
    `\`${method} ${path}${query}\``,
    operation.summary,
    bodyText(operation.requestBody?.content),
    answerText(operation),
  ];
}

const bodyText = (content: Content = {}): string =>
  Object.entries(content)
    .map(([type, { schema }]) => (type === 'application/json' ? bodyOf(schema) : mediaText(type)))
    .join(' or ');

const bodyOf = (schema: Schema): string =>
  nameOf(schema) === null && schema.properties !== undefined ? fieldNames(schema) : typeText(schema);

const mediaText = (type: string): string => (type === 'application/octet-stream' ? 'bytes' : `\`${type}\``);

function answerText({ responses }: Operation): string {
  const answers = Object.entries(responses).filter(([status]) => status !== 'default');
  return answers
    .map(([status, { content }]) => (content === undefined ? status : `${status} ${bodyText(content)}`))
    .join('; ');
}

function typePart(name: string, schema: Schema): readonly string[] {
  if (schema.anyOf !== undefined) return [`### ${name}`, `${schema.anyOf.map(typeText).join(' or ')}.`];
  return [`### ${name}`, fieldLines(schema).join('\n')];
}
