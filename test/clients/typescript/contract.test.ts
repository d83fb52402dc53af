import { afterAll, beforeAll, expect, it } from 'vitest';
import { Discarded, ownFailure, Refused } from '#clients/typescript/src/errors.ts';
import { meanings, type Purpose, toError } from '#clients/typescript/src/failures.ts';
import { formatToolTypes } from '#clients/typescript/src/index.ts';
import { routes } from '#clients/typescript/src/routes.ts';
import { failureCodes } from '#src/failure/codes.ts';
import { type GatewayUnderTest, startGateway } from '#test/integration/gateway/gateway-under-test.ts';

/* The client next to the gateway's own `/openapi.json` and table of failures, so that they stay equal. */

type Parameter = { readonly name?: string; readonly in?: string };
type Document = {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters: readonly Parameter[] }>>>
  >;
};

let gateway: GatewayUnderTest;
let document: Document;
beforeAll(async () => {
  gateway = await startGateway();
  document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;
});
afterAll(() => gateway.stop(1_000));

it.each(Object.entries(routes))('the address of %s is one of the gateway', (_, route) => {
  const operation = document.paths[route.path]?.[route.method.toLowerCase()];
  expect(operation).toBeDefined();
  const queries = operation?.parameters.filter((one) => one.in === 'query').map(({ name }) => name);
  expect(queries?.includes('wait_s')).toBe(route.isHeld);
  expect(queries?.includes('attempt')).toBe(route.path.includes('/rollouts/'));
  for (const ofUploads of ['call_id', 'setup'])
    expect(queries?.includes(ofUploads)).toBe(route.purpose === 'file' && route.method === 'PUT');
});

it('knows every failure code of the fleet, and no other', () => {
  expect(Object.keys(meanings).sort()).toEqual([...failureCodes].sort());
});

const said = (code: string) => ownFailure(code, 'said', 'caller');

it('refuses exactly the failures that a call’s text, id, path or arguments can cause', () => {
  const purposes: readonly Purpose[] = ['open', 'act', 'attach', 'file', 'grade', 'other'];
  const refused = failureCodes.flatMap((code) =>
    purposes
      .filter((purpose) => toError(said(code), purpose) instanceof Refused)
      .map((each) => `${code} ${each}`),
  );
  expect(refused.sort()).toEqual([
    'answer_expired act',
    'call_conflict act',
    'payload_too_large act',
    'payload_too_large file',
    'payload_too_large grade',
  ]);
  for (const code of ['answer_expired', 'call_conflict'])
    expect(toError(said(code), 'act', { isNewId: true })).not.toBeInstanceOf(Refused);
  expect(toError(said('answer_expired'), 'act', { wasSentBefore: true })).toBeInstanceOf(Discarded);
});

it('writes the types of tools from the schemas of their arguments', () => {
  const parameters = {
    type: 'object',
    properties: {
      command: { type: 'string' },
      lines: { type: 'array', items: { type: 'integer' } },
      mode: { enum: ['fast', 'slow'] },
      at: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      'odd name */': { type: ['boolean', 'number'] },
      rest: {},
    },
    required: ['command'],
  };
  const tool = { type: 'function', function: { name: 'shell', description: 'x', parameters } } as const;
  expect(formatToolTypes({ tools: [], grader: null, functions: [tool] })).toBe(
    [
      'export type Tools = {',
      '  readonly "shell": { readonly "command": string; readonly "lines"?: readonly (number)[]; ' +
        'readonly "mode"?: "fast" | "slow"; readonly "at"?: string | null; ' +
        'readonly "odd name */"?: boolean | number; readonly "rest"?: unknown };',
      '};',
      '',
    ].join('\n'),
  );
});
