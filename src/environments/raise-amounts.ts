import type { DemandedAmounts } from '../model/amounts.ts';
import type { TemplateBody } from '../model/environment.ts';
import { shmOf } from './amount-kinds.ts';

/**
 * The template with at least these amounts; the same object if it has them. What it requests of a machine grows with its limits:
 * the author's ratio of both stays.
 */
export function raiseAmounts<Body extends TemplateBody>(template: Body, amounts: DemandedAmounts): Body {
  const { memory, cpu } = template;
  const limitBytes = Math.max(memory.limitBytes, amounts.memoryBytes ?? 0);
  const limitMilli = Math.max(cpu.limitMilli, amounts.cpuMilli ?? 0);
  const diskBytes = Math.max(template.diskBytes, amounts.diskBytes ?? 0);
  const shmBytes = Math.max(shmOf(template), amounts.shmBytes ?? 0);
  const raised = {
    ...template,
    memory: { requestBytes: scale(memory.requestBytes, memory.limitBytes, limitBytes), limitBytes },
    cpu: { requestMilli: scale(cpu.requestMilli, cpu.limitMilli, limitMilli), limitMilli },
    diskBytes,
    ...(shmBytes > shmOf(template) && { shmBytes }),
    ...(amounts.diskIsMemory === true && { diskApart: true as const }),
  };
  return isSame(template, raised) ? template : raised;
}

const isSame = (one: TemplateBody, other: TemplateBody): boolean =>
  one.memory.limitBytes === other.memory.limitBytes &&
  one.cpu.limitMilli === other.cpu.limitMilli &&
  one.diskBytes === other.diskBytes &&
  one.shmBytes === other.shmBytes &&
  one.diskApart === other.diskApart;

/** A request that is the limit stays so: only then a pod's own kill for memory is its own doing. */
const scale = (request: number, limit: number, raised: number): number =>
  request === limit ? raised : Math.min(raised, Math.ceil((request * raised) / limit));
