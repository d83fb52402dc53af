import type { V1EnvVar } from '@kubernetes/client-node';
import type { CreateRequest } from '#src/ports/sandbox-provider.ts';
import type { NetworkClass, PodSettings } from '#src/model/cluster.ts';
import { foldersVariable } from '#src/protocol/sandboxd/folders-variable.ts';
import { ids, type Users } from './users.ts';
import { places } from './volumes.ts';

/**
 * sandboxd's settings and what the template adds to the image's own ENV, which stands beside it. `CORRAL_WORKSPACE` is
 * left out: commands work in the image's WORKDIR, and sandboxd finds that as its own folder. The token is not here,
 * only its hash.
 */
export function variables(
  { sandbox, template, tokenSha256 }: CreateRequest,
  network: NetworkClass,
  users: Users,
  { port }: Pick<PodSettings, 'port'>,
): V1EnvVar[] {
  return Object.entries({
    ...homeOf(users),
    ...network.env,
    ...template.env,
    CORRAL_SANDBOX_ID: sandbox,
    CORRAL_TOKEN_SHA256: tokenSha256,
    CORRAL_LISTEN: `tcp:0.0.0.0:${port}`,
    CORRAL_USERS: users,
    CORRAL_PAYLOAD: places.payload,
    ...foldersVariable(template),
    CORRAL_POLICY_UID: String(ids.policy),
    CORRAL_POLICY_GID: String(ids.policy),
    CORRAL_GRADER_UID: String(ids.grader),
    CORRAL_GRADER_GID: String(ids.grader),
  }).map(([name, value]) => ({ name, value: literal(value) }));
}

/** The runtime gives the home of whom sandboxd starts as: root's, which the commands' user may not enter, or `/`. */
const homeOf = (users: Users): Readonly<Record<string, string>> =>
  users === 'root' ? {} : { HOME: places.workspace };

/** Kubernetes expands `$(NAME)`; of two dollars it leaves one, wherever they stand. */
const literal = (value: string) => value.replaceAll('$', '$$$$');
