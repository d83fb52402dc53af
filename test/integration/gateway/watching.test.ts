import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '#src/access/keys.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

/* A key that only watches asks every route that the gateway has, also routes that are added later. */

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
};
type Operation = { readonly id: string; readonly method: string; readonly path: string };

let gateway: GatewayUnderTest;
let operations: readonly Operation[] = [];
beforeAll(async () => {
  gateway = await startGateway();
  const { paths } = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: id }]) => ({
      id,
      method: method.toUpperCase(),
      path,
    })),
  );
});
afterAll(() => gateway.stop(1_000));

/** Need no key at all. */
const ofOperators: ReadonlySet<string> = new Set(['getHealth', 'getMetrics', 'getOpenApi', 'getReadiness']);

/** Whether the key came through: every other answer than a refusal of the key. */
async function opens({ method, path }: Operation, ...scopes: Scope[]): Promise<boolean> {
  const address = path.replaceAll(/\{[^}]+\}/g, 'x');
  const { 'content-type': _type, ...headers } = gateway.headersOf(...scopes);
  const answer = await fetch(`${gateway.url}${address}`, { method, headers });
  const text = await answer.text();
  return answer.status !== 401 && !text.includes('unauthorized') && !text.includes('has no scope');
}

async function openedBy(scope: Scope): Promise<readonly string[]> {
  const opened: string[] = [];
  for (const operation of operations) if (await opens(operation, scope)) opened.push(operation.id);
  return opened.filter((id) => !ofOperators.has(id)).toSorted();
}

test('a key of scope watch opens the routes that only read, and no other', async () => {
  expect(await openedBy('watch')).toEqual([
    'getEnvironmentTools',
    'getFleet',
    'getKey',
    'getRollout',
    'getRolloutEvents',
    'getRun',
    'getRunEvents',
    'getVerdict',
    'listEnvironments',
    'listRollouts',
    'listRuns',
    'showScreen',
  ]);
});

test('a key of scope truth alone opens nothing', async () => {
  expect(await openedBy('truth')).toEqual([]);
});
