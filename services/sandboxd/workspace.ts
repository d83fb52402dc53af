import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import type { Config } from './config.ts';

/** As every machine has it: all may write there, and nobody may take away what others wrote, such as a grader's folder. */
const temporaryFolder = '/tmp';
const temporaryMode = 0o1777;

/** The policy's own, and its group's, so that the grader can work there too; files keep that group. */
const workspaceMode = 0o2775;

/**
 * Makes the workspace the policy's. Who started us may have done it already, and may have left us without the privilege
 * to; whether commands can work there is asked by the probe, as their own user.
 */
export function prepareWorkspace(config: Config): void {
  attempt(() => mkdirSync(config.workspace, { recursive: true }));
  if (config.userMode !== 'two-user') return;
  attempt(() => {
    // A pod's empty volume is everybody's to write and to delete in.
    if ((statSync(temporaryFolder).mode & temporaryMode) !== temporaryMode)
      chmodSync(temporaryFolder, temporaryMode);
  });
  attempt(() => {
    if (statSync(config.workspace).uid === config.policyUid) return;
    // Its mode first: once given away, it is not ours to change.
    chmodSync(config.workspace, workspaceMode);
    chownSync(config.workspace, config.policyUid, config.policyGid);
  });
}

function attempt(step: () => void): void {
  try {
    step();
  } catch (error) {
    const message = `workspace left as it is: ${error instanceof Error ? error.message : String(error)}`;
    process.stderr.write(`${JSON.stringify({ level: 'warn', message })}\n`);
  }
}
