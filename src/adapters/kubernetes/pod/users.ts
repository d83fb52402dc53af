import type { Template } from '#src/model/environment.ts';
import { Failure } from '#src/failure/failure.ts';
import type { PodSettings } from '#src/model/cluster.ts';

/** sandboxd's own words for who runs as whom; see services/sandboxd/README.md. */
export type Users = 'two-user' | 'single-user' | 'root';

/** The ids of commands and of graders, each the number of a user and of its group. */
export const ids = { policy: 1000, grader: 1001 } as const;

/** Throws `start_failed` where the operator's one id and the template's root cannot both be. */
export function usersOf(template: Template, { singleUid }: Pick<PodSettings, 'singleUid'>): Users {
  if (template.runAs === 'root') {
    if (singleUid) throw new Failure('start_failed', noRoot, { evidence: { runAs: 'root' } });
    return 'root';
  }
  return singleUid || template.uid === 'single' ? 'single-user' : 'two-user';
}

const noRoot =
  'run_as: root is not offered by this fleet, whose sandboxes run under one ordinary id: leave it out, or ask the operator';
