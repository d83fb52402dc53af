import type { FastifyRequest } from 'fastify';
import { mostKeptSampleBytes } from '../../../src/grading/job.ts';
import type { Written } from '../../../src/model/written.ts';
import { mostArgumentBytes } from '../../../src/tools/arguments.ts';
import type { WrittenMember } from './body-parts.ts';
import { invalid } from './failure-of.ts';

/*
 * The two members of a body that the model wrote. Whatever is wrong inside of them is its own, and is told to it or
 * graded; only a member that cannot be read at all, because the caller's body is broken there, is the caller's.
 */

export const writtenArguments: WrittenMember = { name: 'arguments', maxBytes: mostArgumentBytes };
export const writtenSample: WrittenMember = { name: 'sample', maxBytes: mostKeptSampleBytes };

/** A call's arguments as JSON text, whether they came as text or as the value itself. */
export function takeArguments(request: FastifyRequest): Written {
  const written = request.state?.written ?? '';
  if (typeof written !== 'string' || !written.trimStart().startsWith('"')) return written;
  return parsed(written) as string;
}

/** The sample as text; null where none came. It is an object, and what is in it is looked at when it is graded. */
export function takeSample(request: FastifyRequest): Written | null {
  const written = request.state?.written ?? null;
  if (typeof written !== 'string') return written;
  const value = parsed(written);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return written;
  throw invalid('body/sample must be object');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw invalid('the body is not JSON', error);
  }
}
