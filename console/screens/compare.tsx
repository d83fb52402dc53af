import { useMemo } from 'preact/hooks';
import type { ConsoleRolloutAnswer } from '#src/protocol/console/rollout.ts';
import { align } from '../ui/align.ts';
import { useLive } from '../ui/api.ts';
import { Card, Missing, Reading, Trouble } from '../ui/parts.tsx';
import { addressOfRollout, apiOf } from '../ui/rollout-address.ts';
import { addressOf, linkTo } from '../ui/route.ts';
import { count, score, shortId, span, whole } from '../ui/text.ts';
import { Answer } from './answer.tsx';
import { isCommon, LeftOut, namesOf, Pairs, type Side, type Sides } from './paired-calls.tsx';

const everyMs = 5_000;

type Props = { readonly run: string; readonly query: URLSearchParams };

export function Compare({ run, query }: Props) {
  const [a, b] = [query.get('a'), query.get('b')];
  if (a === null || b === null)
    return <p class="empty">Choose two rollouts in the table of a run: x chooses, c compares.</p>;
  return <Two run={run} a={named(query, 'a', a)} b={named(query, 'b', b)} />;
}

const named = (query: URLSearchParams, side: 'a' | 'b', id: string) => ({
  id,
  attempt: query.get(`${side}_attempt`) ?? '1',
});
type Named = ReturnType<typeof named>;

function useRollout(run: string, name: Named) {
  const { path, asked } = apiOf(run, name);
  return useLive<ConsoleRolloutAnswer>(path + asked, everyMs);
}

function Two({ run, a, b }: { readonly run: string; readonly a: Named; readonly b: Named }) {
  const [left, right] = [useRollout(run, a), useRollout(run, b)];
  const errors = [left, right].flatMap(({ error, answer }) =>
    error === null ? [] : [<Trouble key={error.message} error={error} isStale={answer !== null} />],
  );
  return (
    <>
      <p class="crumbs">
        <a {...linkTo(addressOf(['runs', run]))}>{run}</a> › two rollouts
      </p>
      {errors}
      {left.answer === null || right.answer === null ? (
        errors.length === 0 && <Reading what="two rollouts" />
      ) : (
        <Page left={left.answer} right={right.answer} />
      )}
    </>
  );
}

function Page({ left, right }: Sides) {
  const pairs = useMemo(() => align(namesOf(left.calls), namesOf(right.calls)), [left.calls, right.calls]);
  const common = pairs.filter((pair) => isCommon(left, right, pair)).length;
  return (
    <>
      <header class="head">
        <h1>
          {verdictOf(left)} and {verdictOf(right)}:{' '}
          {common === 0 ? 'no call in common' : `${count(common, 'call')} in common`},{' '}
          {whole(left.calls.length)} and {whole(right.calls.length)} in all
        </h1>
        <p class="facts">
          {left.item !== null && right.item !== null && left.item !== right.item && (
            <b>They have different items.</b>
          )}
          <span>Calls are the same if their tool and their arguments are, as far as arguments are kept.</span>
        </p>
      </header>
      <Missing missing={left.missing} />
      <Parts left={left} right={right} />
      <section class="card" aria-label="Calls side by side">
        <h2>Calls</h2>
        <div class="pair">
          <Head answer={left} side="left" />
          <Head answer={right} side="right" />
        </div>
        <Pairs left={left} right={right} pairs={pairs} />
        <LeftOut left={left} right={right} />
      </section>
      <div class="halves">
        <AnswerCard answer={left} side="left" />
        <AnswerCard answer={right} side="right" />
      </div>
    </>
  );
}

const verdictOf = ({ score: reward, discard }: ConsoleRolloutAnswer): string =>
  discard === null ? score(reward) : 'discarded';

/** Each part of both rewards; parts of one name are told apart by their order. */
function Parts({ left, right }: Sides) {
  const [one, other] = [partsOf(left), partsOf(right)];
  const names = [...new Set([...one.keys(), ...other.keys()])];
  if (names.length === 0) return null;
  return (
    <Card title="Reward, part by part">
      <div class="wide-table" tabIndex={0} role="region" aria-label="Reward, part by part">
        <table class="plain">
          <thead>
            <tr>
              <th>part</th>
              <th class="num">left</th>
              <th>reason</th>
              <th class="num">right</th>
              <th>reason</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <Part key={name} name={name} left={one.get(name)} right={other.get(name)} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

type PartOfReward = { readonly part: string; readonly score: number | null; readonly reason: string };

function partsOf({ why }: ConsoleRolloutAnswer): ReadonlyMap<string, PartOfReward> {
  const parts = new Map<string, PartOfReward>();
  for (const each of why?.parts ?? []) {
    let name = each.part;
    while (parts.has(name)) name += ' again';
    parts.set(name, each);
  }
  return parts;
}

function Part({
  name,
  left,
  right,
}: {
  readonly name: string;
  readonly left: PartOfReward | undefined;
  readonly right: PartOfReward | undefined;
}) {
  const path = (left ?? right)?.part.split(' > ') ?? [name];
  return (
    <tr>
      <td class="mono" style={{ paddingLeft: `${(path.length - 1) * 14}px` }}>
        {path.at(-1)}
      </td>
      <td class="num">
        <b>{score(left?.score)}</b>
      </td>
      <td class="quiet mono">{left?.reason ?? '–'}</td>
      <td class="num">
        <b>{score(right?.score)}</b>
      </td>
      <td class="quiet mono">{right?.reason ?? '–'}</td>
    </tr>
  );
}

const Head = ({ answer, side }: { readonly answer: ConsoleRolloutAnswer; readonly side: Side }) => (
  <p>
    <span class="sr">{side}: </span>
    <a class="mono" title={answer.id} {...linkTo(addressOfRollout(answer.run, answer))}>
      {shortId(answer.id)}
    </a>
    <span class="quiet">
      {' '}
      step {answer.step}, {count(answer.calls.length, 'call')}
      {answer.ended_at_ms !== null && `, ${span(answer.ended_at_ms - answer.opened_at_ms)}`}
    </span>
  </p>
);

const AnswerCard = ({ answer, side }: { readonly answer: ConsoleRolloutAnswer; readonly side: Side }) => (
  <Card title="Answer" aside={side}>
    {answer.why !== null ? (
      <Answer why={answer.why} />
    ) : (
      <p class="quiet">
        {answer.reads_truth ? 'No grader has scored it.' : 'Answers need a key with the scope truth.'}
      </p>
    )}
  </Card>
);
