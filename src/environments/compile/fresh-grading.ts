import type { FreshGrading } from '#src/model/grader.ts';
import { parseBytes } from '../quantities.ts';
import type { InHand, Yaml } from './grader.ts';

/** Gateways hold them in memory until a grade is over, hundreds at a time. */
const defaultBytes = '8Mi';
const mostBytes = 64 * 1024 * 1024;

/** How a grader is cut off from the policy's sandbox; nothing where it works there. */
export function freshOf(yaml: Yaml<'command'>, { place, report }: InHand): { readonly fresh?: FreshGrading } {
  const { artifacts, artifact_bytes, on_artifacts } = yaml;
  if (yaml.grade_in !== 'fresh') {
    for (const field of ['artifacts', 'artifact_bytes', 'on_artifacts'] as const)
      if (yaml[field] !== undefined)
        report(
          [...place, field],
          'is of graders with grade_in: fresh; this one works among the files themselves',
        );
    return {};
  }
  const bytes = parseBytes(artifact_bytes ?? defaultBytes);
  if (bytes > mostBytes) report([...place, 'artifact_bytes'], `must be at most ${mostBytes}`);
  if (artifacts === undefined)
    report(
      [...place, 'artifacts'],
      "is missing: a grader in a sandbox of its own sees nothing else of the policy's",
    );
  if (on_artifacts === undefined)
    report(
      [...place, 'on_artifacts'],
      'is missing: the score of a rollout that leaves them missing, unreadable or too large',
    );
  return { fresh: { artifacts: artifacts ?? [], mostBytes: bytes, onArtifacts: on_artifacts ?? 0 } };
}
