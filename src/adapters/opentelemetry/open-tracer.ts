import type { Log } from '#src/ports/log.ts';
import { noTracer, type Tracer } from '#src/ports/tracer.ts';
import type { TracedProcess, TracerOptions } from './options.ts';

/** Null: tracing is off, and the library is not even loaded. */
export async function openTracer(
  options: TracerOptions | null,
  process: TracedProcess,
  log: Log,
): Promise<Tracer> {
  if (options === null) return noTracer;
  const { createTracer } = await import('./tracer.ts');
  return createTracer(options, process, log);
}
