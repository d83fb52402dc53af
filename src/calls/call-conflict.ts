import { Failure } from '../failure/failure.ts';
import type { CallId } from '../model/ids.ts';

/** The call's id is known with other arguments: nothing ran for this request. */
export function callConflict(call: CallId): Failure {
  return new Failure('call_conflict', `call ${call} was sent before with other arguments; use a new call id`);
}
