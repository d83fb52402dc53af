import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { log } from './log.ts';

/*
 * Who works where. sandboxd is root without the privilege to open or to give away what is another's, so it joins the
 * groups of policy and grader: as a member it may enter their folders, and hand the group a folder of its own making.
 *
 *   the workspace      policy:policy 0770, and so the template's folders; one that is the image's WORKDIR stays as it is
 *   /tmp, /dev/shm     writable for all users, sticky
 *   the grader's       root:root 0711, in it a folder for each turn, root:grader 2770: the policy can neither list nor
 *                      enter nor replace it, because nothing on the way there is the policy's to write
 */

/** As every machine has it: all may write there, and nobody may take away what others wrote. */
const temporaryFolders = ['/tmp', '/dev/shm'];
const temporaryMode = 0o1777;

/**
 * Closed to the grader. What it opens in there by itself could be a link to its own input, where the answer stands, or a
 * pipe that never ends; so it asks for the policy's user (`as-policy`), whose links lead nowhere.
 */
const workspaceMode = 0o770;

/** To be passed through, not listed. */
const graderParentMode = 0o711;
/** What is made in there has the grader's group. */
const graderFolderMode = 0o2770;
const privateMode = 0o700;

/** The kubelet makes it for the last words of a container, open to all: a file on the node's disk that counts for no pod. */
const terminationLog = '/dev/termination-log';
const privateFileMode = 0o600;

/**
 * Before anybody's first command. Who started us may have done some of it already, and may have left us without the
 * privilege to; whether commands can work here is asked by the probe, as their own user.
 */
export function prepareFolders(config: Config): void {
  const { graderFolder, policyUid, policyGid, graderGid } = config;
  // An image's stays as it is: taken for ours, /tmp would be closed to others, and a missing one would look like an empty one.
  const workspaces = config.workspaceFrom === 'image' ? [] : [config.workspace];
  for (const workspace of workspaces) attempt(() => mkdirSync(workspace, { recursive: true }));
  attempt(() => mkdirSync(graderFolder, { recursive: true }));
  attempt(() => chmodSync(graderFolder, graderParentMode));
  if (config.userMode !== 'two-user') return;
  if (existsSync(terminationLog)) attempt(() => chmodSync(terminationLog, privateFileMode));
  attempt(() => process.setgroups?.([...(process.getgroups?.() ?? []), policyGid, graderGid]));
  for (const folder of temporaryFolders) {
    attempt(() => {
      // In a pod's empty volume every user may write and delete.
      if ((statSync(folder).mode & temporaryMode) !== temporaryMode) chmodSync(folder, temporaryMode);
    });
  }
  for (const folder of [...workspaces, ...config.folders]) {
    attempt(() => {
      if (statSync(folder).uid === policyUid) return;
      // Its mode first: once given away, it is not ours to change.
      chmodSync(folder, workspaceMode);
      chownSync(folder, policyUid, policyGid);
    });
  }
}

/** A folder for the grader's user, there already or made now. Throws what the system says. */
export function makeGraderFolder(config: Config, name: string): string {
  const path = join(config.graderFolder, name);
  mkdirSync(path, { recursive: true, mode: privateMode });
  if (config.userMode !== 'two-user') return path;
  chownSync(path, -1, config.graderGid);
  chmodSync(path, graderFolderMode);
  return path;
}

function attempt(step: () => void): void {
  try {
    step();
  } catch (error) {
    const message = `folder left as it is: ${error instanceof Error ? error.message : String(error)}`;
    log({ level: 'warn', message });
  }
}
