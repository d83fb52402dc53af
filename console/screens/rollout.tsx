import { useState } from 'preact/hooks';
import type { ConsoleRolloutAnswer, CopyLine } from '#src/protocol/console/rollout.ts';
import { useLive } from '../ui/api.ts';
import { listFields } from '../ui/item-fields.ts';
import { useKeys } from '../ui/keys.ts';
import { Card, Missing, Reading, Trouble } from '../ui/parts.tsx';
import { addressOfRollout, addressOfTwo, apiOf, isSameRollout } from '../ui/rollout-address.ts';
import { addressOf, go, linkTo } from '../ui/route.ts';
import { count, instant, score, shortId, signed, span } from '../ui/text.ts';
import { Answer } from './answer.tsx';
import { Calls } from './calls.tsx';

const everyMs = 5_000;

export function Rollout({
  run,
  id,
  query,
}: {
  readonly run: string;
  readonly id: string;
  readonly query: URLSearchParams;
}) {
  const attempt = query.get('attempt') ?? '1';
  const { path, asked } = apiOf(run, { id, attempt });
  const { answer, error } = useLive<ConsoleRolloutAnswer>(path + asked, everyMs);
  useCopies(answer);
  return (
    <>
      <p class="crumbs">
        <a {...linkTo(addressOf(['runs', run]))}>{run}</a>
        {answer !== null && (
          <>
            {' › '}
            <a {...linkTo(addressOf(['runs', run], { step: String(answer.step) }))}>step {answer.step}</a>
          </>
        )}
      </p>
      {error !== null && <Trouble error={error} isStale={answer !== null} />}
      {answer === null ? (
        error === null && <Reading what={id} />
      ) : (
        <Page answer={answer} path={path} asked={asked} />
      )}
    </>
  );
}

/** `[` and `]` go to the copies before and after it. */
function useCopies(answer: ConsoleRolloutAnswer | null): void {
  useKeys(({ key }) => {
    if (answer === null || (key !== '[' && key !== ']')) return;
    const at = answer.group.findIndex((copy) => isSameRollout(copy, answer));
    const next = answer.group[at + (key === '[' ? -1 : 1)];
    if (next !== undefined) go(addressOfRollout(answer.run, next));
  });
}

function Page({
  answer,
  path,
  asked,
}: {
  readonly answer: ConsoleRolloutAnswer;
  readonly path: string;
  readonly asked: string;
}) {
  const { remembered } = answer;
  return (
    <>
      <header class="head">
        <h1 class="mono">{answer.id}</h1>
        <p class="facts">
          <b>
            {answer.score === null
              ? answer.discard === null
                ? 'no score yet'
                : 'discarded'
              : `reward ${score(answer.score)}`}
          </b>
          {answer.gain !== null && <span>{signed(answer.gain)} against its group</span>}
          <span>{count(answer.calls.length, 'call')}</span>
          <code>
            {answer.environment}@{answer.version.slice(0, 8)}
          </code>
          <span>attempt {answer.attempt}</span>
          <span>opened {instant(answer.opened_at_ms)} UTC</span>
          {answer.sandbox !== null && <code>{answer.sandbox}</code>}
          {remembered?.labels.map((label) => (
            <code key={label} class="pill">
              {label}
            </code>
          ))}
          <a href={`${path}/download${asked}`} download>
            Download
          </a>
        </p>
      </header>
      <Missing missing={answer.missing} />
      {answer.discard !== null && <Discard {...answer} discard={answer.discard} />}
      <div class="two">
        <div>
          <TimeSpent answer={answer} />
          <Calls
            key={`${answer.id} ${answer.attempt}`}
            calls={answer.calls}
            openedAtMs={answer.opened_at_ms}
            path={path}
            asked={asked}
            texts={answer.texts}
          />
        </div>
        <aside>
          <Group answer={answer} />
          <WhyCard answer={answer} />
        </aside>
      </div>
    </>
  );
}

function Discard({
  discard,
  evidence,
}: ConsoleRolloutAnswer & { readonly discard: NonNullable<ConsoleRolloutAnswer['discard']> }) {
  return (
    <section class="banner" aria-label="Why it was discarded">
      <h2>
        Discarded: <code>{discard.code}</code>
        {discard.cause !== null && <code> {discard.cause}</code>}
      </h2>
      <p>
        Blame: {discard.blame}. {discard.suspected !== null && `Suspected: ${discard.suspected}. `}It is in no
        mean, and its trainer got no score.
      </p>
      <dl class="facts">
        {evidence.map(({ name, value }) => (
          <div key={name}>
            <dt class="quiet">{name}</dt> <dd class="mono">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** What fleet state remembers tells the wait; calls tell the work; the rest is the trainer’s and the model’s. */
function TimeSpent({
  answer: { calls, opened_at_ms: opened, ended_at_ms: ended, remembered },
}: {
  readonly answer: ConsoleRolloutAnswer;
}) {
  if (ended === null) return null;
  const worked = calls.reduce((sum, call) => sum + (call.took_ms ?? 0), 0);
  const waited =
    remembered?.claimed_at_ms == null
      ? calls.reduce((sum, call) => sum + call.waited_ms, 0)
      : remembered.claimed_at_ms - remembered.placed_at_ms;
  const whole = Math.max(1, ended - opened);
  const parts = [
    ['waiting for a sandbox', waited, 'var(--v1)'],
    ['commands', worked, 'var(--v0)'],
    ['between calls: model, trainer and fleet', Math.max(0, whole - waited - worked), 'var(--v3)'],
  ] as const;
  return (
    <Card title="Time" aside={span(whole)}>
      <div class="time" role="img" aria-label={parts.map(([name, ms]) => `${name} ${span(ms)}`).join(', ')}>
        {parts.map(([name, ms, color]) => (
          <i key={name} style={{ flexGrow: ms / whole, background: color }} />
        ))}
      </div>
      <p class="legend">
        {parts.map(([name, ms, color]) => (
          <span key={name}>
            <i style={{ background: color }} /> {name} {span(ms)}
          </span>
        ))}
      </p>
    </Card>
  );
}

const shownCopies = 40;

function Group({ answer }: { readonly answer: ConsoleRolloutAnswer }) {
  const { group, item, step, run } = answer;
  const other = bestOther(answer);
  return (
    <Card title="Its group" aside={item === null ? `step ${step}` : `the same item in step ${step}`}>
      {item !== null && <code class="what">{item}</code>}
      <ul class="copies">
        {group.slice(0, shownCopies).map((copy) => (
          <li key={`${copy.id} ${copy.attempt}`}>
            <a
              aria-current={isSameRollout(copy, answer) ? 'true' : undefined}
              title={copy.id}
              {...linkTo(addressOfRollout(run, copy))}
            >
              <b class={copy.code === null ? '' : 'bad'}>{copy.code === null ? score(copy.score) : 'lost'}</b>
              <span class="sr">{shortId(copy.id)},</span> <small>{count(copy.calls, 'call')}</small>
            </a>
          </li>
        ))}
      </ul>
      {group.length > shownCopies && <p class="quiet">and {group.length - shownCopies} more</p>}
      {other !== undefined && (
        <p>
          <a {...linkTo(addressOfTwo(run, answer, other))}>Compare with the best other copy</a>
        </p>
      )}
    </Card>
  );
}

/** Undefined: no other copy has a score. */
const bestOther = (answer: ConsoleRolloutAnswer): CopyLine | undefined =>
  answer.group
    .filter((copy) => copy.score !== null && !isSameRollout(copy, answer))
    .toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0))[0];

function WhyCard({
  answer: { why, reads_truth: readsTruth, score: reward },
}: {
  readonly answer: ConsoleRolloutAnswer;
}) {
  if (why === null)
    return (
      <Card title="Why this score">
        <p class="quiet">
          {readsTruth
            ? 'No grader has scored it.'
            : 'Items, references and reasons need a key with the scope truth.'}
        </p>
      </Card>
    );
  return (
    <>
      <Card title={`Why ${score(reward)}`} aside={count(why.parts.length, 'part')}>
        <ul class="parts">
          {why.parts.map(({ part, score: given, reason }) => (
            <li key={part} style={{ marginLeft: `${(part.split(' > ').length - 1) * 14}px` }}>
              <code>{part.split(' > ').at(-1)}</code> <b>{score(given)}</b>
              <p class="mono">{reason}</p>
            </li>
          ))}
        </ul>
        <Answer why={why} />
        {why.stderr !== '' && (
          <details>
            <summary>stderr of the grader</summary>
            <pre>{why.stderr}</pre>
          </details>
        )}
      </Card>
      <Item why={why} />
    </>
  );
}

/** A field that a grader compares with is not for the policy. A row that the log has not whole is shown as it is. */
function Item({ why }: { readonly why: NonNullable<ConsoleRolloutAnswer['why']> }) {
  const fields = listFields(why);
  return (
    <Card title="Item">
      {fields === null ? (
        <Text text={why.item} />
      ) : (
        <dl>
          {fields.map(({ name, text, isReference }) => (
            <div key={name}>
              <dt>
                <code>{name}</code> {isReference && <span class="pill">only the grader</span>}
              </dt>
              <dd>
                <Text text={text} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Card>
  );
}

const folded = 600;

function Text({ text }: { readonly text: string }) {
  const [isAll, setAll] = useState(false);
  return (
    <>
      <pre>{isAll ? text : text.slice(0, folded)}</pre>
      {text.length > folded && (
        <button type="button" onClick={() => setAll(!isAll)}>
          {isAll ? 'Show less' : `Show all ${text.length} characters`}
        </button>
      )}
    </>
  );
}
