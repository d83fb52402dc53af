import { createHash } from 'node:crypto';
import { Failure } from '#src/failure/failure.ts';
import type { TenantId } from '#src/model/ids.ts';
import type { AliasStore, Named, NamedByTag } from '#src/ports/fleet/registry.ts';
import type { GatewayCore } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';

/*
 * What a client calls a template: an environment of the fleet by its own name, or a name that was given to an image. After a colon
 * stands a tag, or the id of a build. Each tag of a name has one build, the newest, so its id follows from both and nothing keeps it.
 */

export type NamingDeps = {
  readonly core: Pick<GatewayCore, 'environments'>;
  readonly aliases: AliasStore;
};

export type TemplateName = { readonly alias: string; readonly tag: string };

const usualTag = 'default';
/** What the SDK and its code interpreter ask for if their user names no template. */
const defaultTemplates: ReadonlySet<string> = new Set(['base', 'code-interpreter-v1']);
/** It serves them if nothing else has the name. */
const defaultEnvironment = 'shell';

/** Null: it has more than one colon. */
export function splitName(name: string): TemplateName | null {
  const [alias = '', tag = usualTag, ...rest] = name.split(':');
  return rest.length === 0 ? { alias, tag } : null;
}

export const joinName = ({ alias, tag }: TemplateName): string =>
  tag === usualTag ? alias : `${alias}:${tag}`;

/** As E2B writes it, a UUID. */
export function buildIdOf(tenant: TenantId, { alias, tag }: TemplateName): string {
  const hex = createHash('sha256')
    .update(JSON.stringify([tenant, alias, tag]))
    .digest('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20, 32)].join('-');
}

export function isEnvironment({ core }: Pick<NamingDeps, 'core'>, name: string): boolean {
  return core.environments().some((environment) => environment.name === name.split('@', 1)[0]);
}

/** Whether anything has the name, under whatever tag, if it is asked for without one. */
export async function isKnown(deps: NamingDeps, tenant: TenantId, name: string): Promise<boolean> {
  if ((await findTemplate(deps, tenant, name)) !== null) return true;
  return !name.includes(':') && (await deps.aliases.named(tenant, name)).size > 0;
}

/** Null: there is none such. */
export async function findTemplate(deps: NamingDeps, tenant: TenantId, name: string): Promise<Named | null> {
  const asked = splitName(name);
  if (asked === null || asked.alias === '') return null;
  const { alias, tag } = asked;
  if (isEnvironment(deps, alias)) return tag === usualTag ? { environment: alias, image: null } : null;
  const named = pick(tenant, asked, await deps.aliases.named(tenant, alias));
  if (named !== null || !defaultTemplates.has(joinName(asked))) return named;
  return isEnvironment(deps, defaultEnvironment) ? { environment: defaultEnvironment, image: null } : null;
}

function pick(tenant: TenantId, { alias, tag }: TemplateName, named: NamedByTag): Named | null {
  const found = named.get(tag);
  if (found !== undefined) return found;
  const ofBuild = [...named].find(([other]) => buildIdOf(tenant, { alias, tag: other }) === tag);
  return ofBuild?.[1] ?? null;
}

/** Throws `unknown_environment`. */
export async function templateOf(deps: NamingDeps, tenant: TenantId, name: string): Promise<Named> {
  const template = await findTemplate(deps, tenant, name);
  if (template !== null) return template;
  const known = deps.core.environments().map((environment) => environment.name);
  throw new Failure(
    'unknown_environment',
    `there is no template ${JSON.stringify(name.slice(0, 100))}; build it from an image, or use an environment: ${known.join(', ')}`,
  );
}

const aliasPattern = /^[A-Za-z0-9][\w.-]{0,127}$/;

/** The name that a build will give. Throws `invalid_request` if it cannot be one. */
export function newName(deps: NamingDeps, name: string): TemplateName {
  const given = splitName(name);
  if (given === null) throw invalid('a build gives a template one tag');
  if (!aliasPattern.test(given.alias) || !aliasPattern.test(given.tag)) {
    throw invalid(
      'a template and its tag are named by 1 to 128 letters, digits, "_", "-" and ".", the first of them a letter or digit',
    );
  }
  if (isEnvironment(deps, given.alias)) {
    throw invalid(
      `${given.alias} is an environment of the fleet and needs no build; give the template another name`,
    );
  }
  return given;
}
