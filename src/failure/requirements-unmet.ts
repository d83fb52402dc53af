import type { UnmetRequirement } from '../model/requirements.ts';
import { Failure } from './failure.ts';

/** `requirements_unmet` for one demand or several: the first is the evidence, the message names all. */
export function requirementsUnmet([first, ...others]: readonly [
  UnmetRequirement,
  ...UnmetRequirement[],
]): Failure {
  const message = [first, ...others]
    .map(({ wanted, given, fix }) => `${wanted}, but ${given}; ${fix}`)
    .join('. Also: ');
  return new Failure('requirements_unmet', message, { evidence: { ...first } });
}

/** Throws it if any demand is not met. */
export function refuseUnmet([first, ...others]: readonly UnmetRequirement[]): void {
  if (first !== undefined) throw requirementsUnmet([first, ...others]);
}
