import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenApi } from '#tools/http-page/document.ts';
import { httpPage } from '#tools/http-page/page.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';

type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly unknown[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: object;
  };
};

let gateway: GatewayUnderTest;
let text: string;
let document: Document;
beforeAll(async () => {
  gateway = await startGateway();
  text = await (await fetch(`${gateway.url}/openapi.json`)).text();
  document = JSON.parse(text) as Document;
});
afterAll(() => gateway.stop(1_000));

const operations = () => Object.values(document.paths).flatMap((methods) => Object.values(methods));
const operation = (id: string) => operations().find(({ operationId }) => operationId === id);

const redocly = join(import.meta.dirname, '../../../node_modules/.bin/redocly');
/**
 * Every failure is the one `default` response, whose statuses the table of failures has. E2B itself has `/templates/aliases/{alias}`
 * next to `/templates/{template}/tags`.
 */
const rules = 'extends: [recommended]\nrules: { operation-4xx-response: off, no-ambiguous-paths: off }\n';

describe('the OpenAPI document', () => {
  it('passes redocly lint without an error or a warning', async () => {
    await using folder = await environmentFolder({ 'redocly.yaml': rules });
    const file = join(folder.path, 'openapi.json');
    await writeFile(file, text);
    const lint = ['lint', '--config', join(folder.path, 'redocly.yaml'), '--format', 'json', file];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await promisify(execFile)(redocly, lint, { env, cwd: folder.path });
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 } });
  });

  it('is what docs/http-api.md has', async () => {
    const page = await readFile(join(import.meta.dirname, '../../../docs/http-api.md'), 'utf8');
    const stale = 'docs/http-api.md is stale: run node_modules/.bin/node tools/write-http-page.ts';
    expect(page === httpPage(JSON.parse(text) as OpenApi), stale).toBe(true);
  });

  it('names every operation of every face once', () => {
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining(['openRollout', 'rftGrade', 'e2bCreateSandbox', 'getReadiness', 'getMetrics']),
    );
    expect(new Set(operations().flatMap(({ tags }) => tags))).toEqual(
      new Set(['native', 'rft', 'e2b', 'operations']),
    );
  });

  it('describes files, archives and event lines by their own media types', () => {
    const bytes = { schema: { type: 'string', format: 'binary' } };
    expect(operation('readFile')?.responses['200']?.content).toEqual({ 'application/octet-stream': bytes });
    expect(operation('writeFile')?.requestBody?.content).toEqual({ 'application/octet-stream': bytes });
    expect(operation('downloadArchive')?.responses['200']?.content).toEqual({ 'application/x-tar': bytes });
    expect(Object.keys(operation('getRunEvents')?.responses['200']?.content ?? {})).toEqual([
      'application/x-ndjson',
    ]);
  });

  it('requires a body only where a request without one fails', () => {
    const optional = operations().filter(({ requestBody }) => requestBody?.required === false);
    expect(optional.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['finishRollout', 'gradeRollout', 'e2bSetTimeout']),
    );
    expect(operation('openRollout')?.requestBody?.required).toBe(true);
  });

  it('declares the header of the run, the failure of each face, and retry-after', () => {
    for (const id of ['openRollout', 'rftCallTool', 'gradeRollout'])
      expect(operation(id)).toMatchObject({
        parameters: expect.arrayContaining([{ $ref: '#/components/parameters/Run' }]),
        responses: { default: { $ref: '#/components/responses/Failure' } },
      });
    expect(document.components).toMatchObject({
      responses: { Failure: { headers: { 'retry-after': {} } }, E2bFailure: {} },
      schemas: { Rollout: {}, CallResult: {}, Grade: {}, Error: {}, E2bError: {}, Verdict: {} },
    });
  });

  it('declares the headers of E2B: of Connect, of a create that may be repeated, and of the next page', () => {
    for (const id of ['e2bStartProcess', 'e2bStat', 'e2bListProcesses'])
      expect(operation(id)?.parameters).toEqual(
        expect.arrayContaining(
          ['Sandbox', 'ConnectVersion', 'ConnectTimeout'].map((name) => ({
            $ref: `#/components/parameters/${name}`,
          })),
        ),
      );
    expect(operation('e2bCreateSandboxV2')?.parameters).toEqual([
      expect.objectContaining({ name: 'idempotency-key', in: 'header', required: false }),
    ]);
    expect(operation('e2bListSandboxesV2')?.responses['200']).toMatchObject({
      headers: { 'x-next-token': { schema: { type: 'string' } } },
    });
  });

  it('leaves the codes of failures open, so that a new one breaks no generated client', () => {
    expect(document.components.schemas).toMatchObject({
      Error: { properties: { error: { properties: { code: { type: 'string' } } } } },
    });
    expect(text).not.toMatch(/"enum":\s*\["capacity_timeout"/);
  });

  it('has no body that generators would have to choose among', () => {
    const bodies = Object.entries(document.components.schemas).filter(([name]) =>
      operations().some(({ requestBody }) => JSON.stringify(requestBody ?? {}).includes(`schemas/${name}"`)),
    );
    expect(bodies.map(([name]) => name)).toEqual(expect.arrayContaining(['Command', 'ToolCall']));
    expect(bodies.filter(([, schema]) => 'oneOf' in schema || 'anyOf' in schema)).toEqual([]);
  });

  it('a grade without a body is taken', async () => {
    const headers = gateway.headersOf('native');
    const answer = await fetch(`${gateway.url}/v1/rollouts/r1/grade`, { method: 'POST', headers });
    expect(answer.status).toBe(200);
  });
});
