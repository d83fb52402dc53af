import { accessSync, constants } from 'node:fs';
import type { Config } from './config.ts';
import { helperFiles } from './helper/helper-process.ts';
import { policyIds, rights, surelyMay, surelyRuns } from './programs/permissions.ts';

const shell = '/bin/sh';

/**
 * Whether a command would surely find here what it needs, by looking alone: a workspace of ours that its user can write, a shell,
 * and all that a helper is made of. A process that looks as that user costs ten times as much, so it is asked only where this
 * leaves a doubt (`make-ready.ts`): false says that there is one, not that anything is wrong.
 */
export function looksWell(config: Config): boolean {
  const who = policyIds(config);
  return (
    (config.workspaceFrom === 'image' || isOpen(who, config.workspace)) &&
    surelyRuns(who, shell) &&
    helperFiles(config).every((file) => surelyMay(who, file, rights.read))
  );
}

const isOpen = (who: ReturnType<typeof policyIds>, workspace: string) =>
  surelyMay(who, workspace, rights.write | rights.execute) && isWritableMount(workspace);

/** That it is mounted read-only no permission shows. We may write there too, as a member of the policy's group (`folders.ts`). */
function isWritableMount(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
