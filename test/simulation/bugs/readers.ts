import type { GatewayWorld } from '#services/gateway/core-wiring.ts';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { environmentsOfChanges } from '../trainer/plan.ts';
import type { GradeTurn } from '#src/protocol/sandboxd/wire.ts';
import type { Planted } from '../world.ts';

type Refusal = Extract<LinkError['trouble'], { readonly kind: 'refused' }>;

/** What sandboxd says of files that could not be read is taken for something else. */
function taking(from: Partial<Refusal>, to: Partial<Refusal>): Planted {
  const changed = (thrown: unknown): unknown => {
    if (!(thrown instanceof LinkError) || thrown.trouble.kind !== 'refused') return thrown;
    const { trouble } = thrown;
    const isMeant = Object.entries(from).every(([name, value]) => trouble[name as keyof Refusal] === value);
    return isMeant ? new LinkError({ ...trouble, ...to }) : thrown;
  };
  const gateway = ({ link, ...ports }: GatewayWorld): GatewayWorld => ({
    ...ports,
    link: {
      ...link,
      takeArtifacts: async (...asked) => {
        try {
          return await link.takeArtifacts(...asked);
        } catch (thrown) {
          throw changed(thrown);
        }
      },
      getFile: async (...asked) => {
        try {
          return await link.getFile(...asked);
        } catch (thrown) {
          throw changed(thrown);
        }
      },
    },
  });
  return { actor: 'honest_fault', gateway };
}

/** What the policy left is looked for in a sandbox where it never was. */
export const comparesTheImage: Planted = {
  environments: environmentsOfChanges,
  gateway: ({ link, ...ports }) => ({
    ...ports,
    link: {
      ...link,
      list: (target, request, signal) => link.list(target, { ...request, turn: null }, signal),
    },
  }),
};

/** Such a grader is not tried again. */
const ranAlready = { ending: { kind: 'exited', exitCode: 0 } } as const;

/** What sandboxd says of a turn of grading counts as want of memory, by the sandbox's own account. */
function takingGrade(kind: GradeTurn['kind'], errno: string | null): Planted {
  const gateway = ({ link, ...ports }: GatewayWorld): GatewayWorld => ({
    ...ports,
    link: {
      ...link,
      call: async (...asked) => {
        const answer = await link.call(...asked);
        if (answer === 'running' || answer.grade?.kind !== kind) return answer;
        if (errno !== null && answer.grade.kind === 'folder_failed' && answer.grade.errno !== errno)
          return answer;
        const grade = { kind: 'folder_failed', errno: 'SIGKILL', message: 'no memory' } as const;
        return { ...answer, ...ranAlready, grade };
      },
    },
  });
  return { actor: 'honest_fault', gateway };
}

export const blamesForLostHelper = takingGrade('folder_failed', 'LOST');
export const blamesForSlowHelper = takingGrade('folder_failed', 'ETIMEDOUT');
export const blamesForSurvivors = takingGrade('survivors', null);

/** A grader without room counts as one that has run. */
export const triesGradersOnce: Planted = {
  actor: 'honest_fault',
  gateway: ({ link, ...ports }) => ({
    ...ports,
    link: {
      ...link,
      call: async (...asked) => {
        const answer = await link.call(...asked);
        if (answer === 'running' || answer.grade?.kind !== 'folder_failed') return answer;
        return { ...answer, ...ranAlready };
      },
    },
  }),
};

/** Ids count as apart in every sandbox. */
export const asksNoIsolation: Planted = {
  actor: 'adversary',
  gateway: ({ link, ...ports }) => ({
    ...ports,
    link: { ...link, bind: async (...asked) => ({ ...(await link.bind(...asked)), isolation: 'two-user' }) },
  }),
};

export const blamesForDisk = taking({ errno: 'EIO' }, { errno: 'EFBIG' });
export const blamesForLostReader = taking({ errno: 'LOST' }, { errno: 'SIGKILL' });
export const blamesForMissingReader = taking({ code: 'internal', errno: 'ENOENT' }, { code: 'file_error' });
