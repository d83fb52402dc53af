import { Type } from 'typebox';
import { rowIfKept } from '#src/claiming/dataset-row.ts';
import { verdictOf } from '#src/failure/verdict.ts';
import type { Environment } from '#src/model/environment.ts';
import { ListHeaders, ListQuery, RunParams } from '#src/protocol/e2b/control.ts';
import { described, SandboxInfo, versioned } from '#src/protocol/e2b/described.ts';
import type { Caller, RolloutView } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';
import type { App } from '../http/app.ts';
import { controllerOf } from './identify.ts';
import type { E2bParts } from './parts.ts';
import { infoOf, isAlive } from './sandbox.ts';

/** The open sandboxes of a run, a page at a time. Filters apply within a page, so a page may be empty and still lead on. */
export function listRoutes(app: App, parts: E2bParts): void {
  for (const path of ['/sandboxes', '/v2/sandboxes']) {
    const listing = described(
      versioned('e2bListSandboxes', path),
      'Sandboxes of the run, a page at a time',
      { 200: Type.Array(SandboxInfo) },
      { answerHeaders: ListHeaders },
    );
    app.get(
      path,
      { schema: { ...listing, params: RunParams, querystring: ListQuery } },
      async (request, reply) => {
        const isWanted = createFilter(request.query);
        const { sandboxes, cursor } = await listPage(parts, controllerOf(request), request.query.nextToken);
        const headers = cursor === null ? {} : { 'x-next-token': cursor };
        return reply.headers(headers).send(sandboxes.filter(isWanted));
      },
    );
  }
}

/** An open sandbox with its metadata. `environment`: null if it is no longer offered. */
export async function describeSandbox(
  { rows }: Pick<E2bParts, 'rows'>,
  view: Pick<RolloutView, 'record'>,
  environment: Environment | null,
): Promise<Info> {
  return infoOf(view, environment, await rowIfKept(rows, view.record));
}

type Info = ReturnType<typeof infoOf>;

async function listPage(parts: E2bParts, { tenant, run }: Caller, cursor: string | undefined) {
  const { core, reports } = parts;
  const page = await reports.rollouts(tenant, run, cursor ? { cursor } : {});
  const views = page.rollouts.map((record) => ({
    record,
    verdict: verdictOf(record),
    calls: [],
    ahead: null,
  }));
  const alive = views.filter((view) => view.record.face === 'e2b' && isAlive(view));
  const environments = new Map(core.environments().map((environment) => [environment.version, environment]));
  const sandboxes = await Promise.all(
    alive.map((view) => describeSandbox(parts, view, environments.get(view.record.version) ?? null)),
  );
  return { sandboxes, cursor: page.cursor };
}

/** Throws `invalid_request` for a filter that cannot be read. */
function createFilter({ metadata = '', state, template, startedAfter }: ListQuery): (info: Info) => boolean {
  const wanted = readPairs(metadata);
  const sinceMs = startedAfter === undefined ? -Infinity : Date.parse(startedAfter);
  if (Number.isNaN(sinceMs)) throw invalid('startedAfter is no time; write it as ISO 8601');
  const isAnyState = state === undefined || state === '' || state.split(',').includes('running');
  return (info) =>
    isAnyState &&
    (template === undefined || template === info.templateID) &&
    Date.parse(info.startedAt) >= sinceMs &&
    wanted.every(([key, value]) => info.metadata?.[key] === value);
}

/** `key=value&...`, of which clients escape each part before they escape the whole. */
function readPairs(text: string): readonly (readonly [string, string])[] {
  try {
    return [...new URLSearchParams(text)].map(
      ([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)] as const,
    );
  } catch (error) {
    throw invalid('the metadata to look for is not escaped as in an address', error);
  }
}
