import { Type } from 'typebox';
import { contract, list, Nothing, orNothing } from './contract.ts';

const sandbox = Type.String();
const template = Type.String();
const launch = {
  sandbox,
  template,
  environment: Type.String(),
  reason: Type.String(),
  run: Type.Optional(Type.String()),
};

export const launching = {
  'keep-plan': contract(
    { plan: Type.String(), targets: Type.Array(Type.Object({ template, target: Type.String() })) },
    Nothing,
  ),
  'look-at': contract({ templates: Type.Array(template) }, Nothing),
  reserve: contract(
    {
      sandboxes: Type.Array(sandbox),
      startBudget: Type.Integer(),
      startTimeoutMs: Type.Integer(),
      slots: Type.Object({ first: Type.Integer(), later: Type.Integer(), unproven: Type.Integer() }),
      plan: Type.String(),
    },
    Type.Union([
      Type.Object({
        kind: Type.Literal('reserved'),
        launches: list(Type.Object(launch)),
        starting: Type.Integer(),
        isUnplanned: Type.Boolean(),
      }),
      Type.Object({ kind: Type.Literal('no_plan') }),
    ]),
  ),
  starts: contract({ forMs: Type.Integer() }, list(Type.Object(launch))),
  /** Replies whose it is now, if it is granted at once. */
  ready: contract({ sandbox, boot: Type.String(), address: Type.String() }, orNothing(Type.String())),
  'launch-failed': contract(
    { sandbox, code: Type.String(), message: Type.String(), reason: Type.String() },
    Nothing,
  ),
  'overdue-launches': contract({}, list(sandbox)),
};
