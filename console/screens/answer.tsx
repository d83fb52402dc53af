import type { Why } from '#src/protocol/console/rollout.ts';
import { type Mark, marksOf } from '../ui/marks.ts';

/** What was answered and expected: marked where both are lists, else as texts. */
export function Answer({ why }: { readonly why: Why }) {
  const marks = marksOf(why);
  return marks === null ? <Texts why={why} /> : <Marks marks={marks} />;
}

const Texts = ({ why: { answer, reference } }: { readonly why: Why }) => (
  <dl>
    {(
      [
        ['answered', answer],
        ['expected', reference],
      ] as const
    ).flatMap(([how, texts]) =>
      Object.entries(texts).map(([name, text]) => (
        <div key={`${how} ${name}`}>
          <dt>
            <code>{name}</code> {how}
          </dt>
          <dd>
            <pre>{text}</pre>
          </dd>
        </div>
      )),
    )}
  </dl>
);

const signs = { right: '✓', missing: '○', 'not asked for': '✕' } as const;
const colors = { right: 'good', missing: 'quiet', 'not asked for': 'bad' } as const;

const Marks = ({ marks }: { readonly marks: readonly Mark[] }) => (
  <ul class="marks">
    {marks.map(({ text, how }) => (
      <li key={text}>
        <span class={colors[how]} aria-hidden="true">
          {signs[how]}
        </span>
        <code>{text}</code>
        <span class="quiet">{how}</span>
      </li>
    ))}
  </ul>
);
