import { Failure } from '../failure/failure.ts';
import type { Amounts } from '../model/amounts.ts';
import type { Environment } from '../model/environment.ts';
import type { Item, Json } from '../model/grader.ts';
import { amountsOf } from './amount-kinds.ts';

/** What the row demands. Throws `item_missing` without a row, and `invalid_request` for what is not an amount. */
export function readDemands(
  { name, demands = {} }: Pick<Environment, 'name' | 'demands'>,
  item: Item | null,
): Amounts {
  return amountsOf(({ name: amount, read, example }) => {
    const field = demands[amount];
    if (field === undefined) return undefined;
    if (item === null) throw rowMissing(name, field);
    const value = item[field];
    if (value === undefined || value === null || value === '') return undefined;
    return read(value) ?? refuseAmount(name, field, value, example);
  });
}

function rowMissing(environment: string, field: string): Failure {
  return new Failure(
    'item_missing',
    `environment ${environment} takes what a task demands from the item field ${field}, and this rollout has no row; ` +
      'send the whole row as `item`',
    { evidence: { field } },
  );
}

const shownChars = 100;

function refuseAmount(environment: string, field: string, value: Json, example: string): never {
  const shown = JSON.stringify(value).slice(0, shownChars);
  throw new Failure(
    'invalid_request',
    `environment ${environment} takes what a task demands from the item field ${field}, which is ${shown} and not an amount ` +
      `with its unit; write it like ${example}`,
    { evidence: { field, amount: shown } },
  );
}
