import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';
import { Rollout } from './shapes.ts';

const key = Type.String();
const run = Type.String();
const limit = Type.Integer();

export const rollouts = {
  find: contract(
    { before: Type.String(), attempt: Type.Optional(Type.Integer()), role: Type.String() },
    orNothing(Rollout),
  ),
  /** Replies raw the row. */
  'read-row': contract({ key }, Nothing),
  heartbeat: contract({ key }, orNothing(Rollout)),
  close: contract({ key, by: Type.String() }, orNothing(Rollout)),
  refuse: contract({ key, unmet: Type.String() }, orNothing(Rollout)),
  void: contract(
    { key, reason: Type.String() },
    orNothing(Type.Object({ changed: Type.Boolean(), rollout: Rollout })),
  ),
  /** True: another sandbox of the template has shown the same of late. */
  'shows-again': contract(
    { template: Type.String(), what: Type.String(), sandbox: Type.String() },
    Type.Boolean(),
  ),
  unserved: contract({ key }, Nothing),
  'expire-due': contract({ limit }, list(Rollout)),
  'keep-contact': contract({ silentMs: Type.Integer() }, Type.Number()),
  'renew-run': contract({ run }, Type.Boolean()),
  'close-run': contract({ run, limit }, Type.Integer()),
  'lapsed-runs': contract({ limit }, list(run)),
  'release-lapsed': contract({ run, limit }, Type.Integer()),
};
