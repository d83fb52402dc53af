import { mayBePolicys } from '../failure/verdict.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';

/**
 * What sandboxd answered, if it may count as the doing of what ran. Commands are the kernel's first choice when the machine
 * has no memory left, a full disk fails every write, and a limit
 * that others have used up fails what needs it: the result of such a call is unknown, and the sandbox is lost. It is
 * marked: a container does not see what its pod lacked, and a policy with sandboxd's id can write this report.
 */
export function undisturbed(answer: CallAnswer | 'running'): CallAnswer | 'running' {
  if (answer === 'running') return answer;
  const { memoryLackedBy, outOfMemoryKills, nodeDiskFull, limitsUsedUp } = answer.evidence;
  if (memoryLackedBy === 'machine' || memoryLackedBy === 'unknown') {
    throw new LinkError({
      kind: 'struck',
      detail: killedFor[memoryLackedBy],
      cause: 'node_out_of_memory',
      evidence: { outOfMemoryKills, memoryLackedBy, ...mayBePolicys },
    });
  }
  if (nodeDiskFull) {
    throw new LinkError({
      kind: 'struck',
      detail: 'the disk of the node was full while the call ran',
      cause: 'node_disk_full',
      evidence: {},
    });
  }
  if (limitsUsedUp !== undefined && limitsUsedUp.length > 0) {
    throw new LinkError({
      kind: 'struck',
      detail: `a limit that sandboxes of the machine share was used up while the call ran: ${limitsUsedUp.join(', ')}`,
      cause: 'node_limit_used_up',
      evidence: { limits: limitsUsedUp.join(', ') },
    });
  }
  return answer;
}

const killedFor = {
  machine:
    'the machine had no memory left and killed something in the sandbox while the call ran or since the one before',
  unknown:
    'something in the sandbox was killed for memory while the call ran or since the one before, and it is not certain that the sandbox reached its own limit',
};
