import { storiesOfEvents } from '#cli/stories/rollout-sources.ts';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import { readsTruth, isScope } from '#src/access/keys.ts';
import { Failure } from '#src/failure/failure.ts';
import { blameOf } from '#src/failure/codes.ts';
import { ownerOf } from '#src/model/rollout.ts';
import type { CallLine, ConsoleRolloutAnswer, CopyLine, Remembered } from '#src/protocol/console/rollout.ts';
import { RolloutAnswer } from '#src/protocol/native/rollouts.ts';
import { gainIn, type PlacedRollout, type RunView } from '#src/reports/digest/view.ts';
import { verbOf } from '#src/reports/findings/traits.ts';
import type { CallStory, Missing, RolloutStory } from '#src/reports/rollout-story.ts';
import { excerptOf, type KeptTexts, type RolloutTexts } from './call-texts.ts';
import type { RunReader } from './run-reader.ts';
import type { Session } from './sessions.ts';

export type WantedRollout = { readonly id: string; readonly attempt: number };

/** The page of one rollout: its story from the logs, its texts from the store, and what fleet state still remembers. */
export async function readRollout(
  reader: RunReader,
  wanted: WantedRollout,
  { gateway, grant }: Session,
  kept: KeptTexts,
): Promise<ConsoleRolloutAnswer> {
  const { view, missing } = await reader.view();
  const placed = findRollout(view, wanted);
  const [story] = storiesOfEvents(eventsOf(reader, placed));
  if (story === undefined) throw unknown(wanted.id);
  const path = `/v1/rollouts/${encodeURIComponent(wanted.id)}`;
  const [texts, record] = await Promise.all([
    kept.ofRollout(placed.key),
    gateway.find(path, RolloutAnswer, reader.run),
  ]);
  return {
    ...factsOf(story, placed),
    run: reader.run,
    gain: gainIn(view, placed),
    group: (view.groups.get(placed.group) ?? []).map(copyLine),
    calls: story.calls.map((call) => callLine(call, texts)),
    why: story.why === null ? null : { ...story.why, parts: [...story.why.parts] },
    reads_truth: readsTruth(grant.scopes.filter(isScope)),
    remembered: record === null || record.attempt !== wanted.attempt ? null : rememberedOf(record),
    texts: { place: texts.place, unreadable: [...texts.unreadable] },
    missing: missing.map(toldMissing),
  };
}

export function findRollout({ rollouts }: RunView, { id, attempt }: WantedRollout): PlacedRollout {
  const found = rollouts.find(({ key }) => {
    const owner = ownerOf(key);
    return owner.rollout === id && owner.attempt === attempt;
  });
  if (found === undefined) throw unknown(id);
  return found;
}

const unknown = (id: string) =>
  new Failure('rollout_unknown', `the logs of this run have no rollout "${id.slice(0, 100)}"`);

/** A line that came twice counts once. */
function eventsOf(reader: RunReader, { key }: PlacedRollout) {
  return [...new Set(reader.linesOf(key))].flatMap((line) => parseEvent(line) ?? []);
}

function factsOf(story: RolloutStory, placed: PlacedRollout) {
  const { loss } = placed;
  return {
    id: story.rolloutId,
    attempt: story.attempt,
    environment: story.environment,
    version: story.version,
    step: placed.step,
    item: placed.item,
    opened_at_ms: placed.openedAtMs,
    ended_at_ms: placed.endedAtMs,
    score: placed.score,
    sandbox: story.sandbox,
    closed_by: story.closedBy,
    void_reason: story.voidReason,
    discard:
      loss === null
        ? null
        : { code: loss.code, cause: loss.cause, blame: blameOf(loss.code), suspected: story.suspected },
    evidence: Object.entries(story.evidence).map(([name, value]) => ({ name, value: String(value) })),
  };
}

function copyLine({ key, score, loss, calls }: PlacedRollout): CopyLine {
  const { rollout: id, attempt } = ownerOf(key);
  return { id, attempt, score, code: loss?.code ?? null, calls: calls.length };
}

function callLine(call: CallStory, { byCall }: RolloutTexts): CallLine {
  const texts = byCall.get(call.callId);
  const { command } = call;
  // The log has its beginning, also where no text is kept.
  const logged = command === null ? null : { text: command, whole: command.length };
  return {
    id: call.callId,
    tool: call.tool,
    verb: verbOf(call.tool, command ?? ''),
    started_at_ms: call.startedAtMs,
    took_ms: call.durationMs,
    waited_ms: call.waitedMs,
    outcome: call.outcome,
    code: call.code,
    blame: call.blame,
    exit_code: call.exitCode,
    output_bytes: call.outputBytes,
    asked: excerptOf(texts?.arguments ?? logged),
    output: excerptOf(texts?.output),
  };
}

const at = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

function rememberedOf(record: RolloutAnswer): Remembered {
  return {
    state: record.state,
    step: record.step,
    labels: [...record.labels],
    placed_at_ms: Date.parse(record.placed_at),
    claimed_at_ms: at(record.claimed_at),
    active_at_ms: at(record.active_at),
    closed_at_ms: at(record.closed_at),
  };
}

const toldMissing = ({ keeper, why }: Missing) => ({ keeper, why });
