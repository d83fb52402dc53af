import type { Story } from '../engine/story.ts';
import type { FleetSnapshot, RolloutRow, SandboxRow } from './fleet-snapshot.ts';

/** Tells how the fleet takes what happens: every change of a rollout's or a sandbox' record, in words. */
export class Narrator {
  readonly #story: Story;
  #before: FleetSnapshot;

  constructor(story: Story, before: FleetSnapshot) {
    this.#story = story;
    this.#before = before;
  }

  /** `now`: fleet state as it stands; nothing is told where it is the one before. */
  look(now: FleetSnapshot): void {
    const before = this.#before;
    if (now === before) return;
    this.#before = now;
    for (const row of now.rollouts.values()) {
      for (const words of rolloutNews(before.rollouts.get(row.key), row))
        this.#story.state(nameOf(row.key), words);
    }
    for (const row of now.sandboxes.values()) {
      const words = sandboxNews(before.sandboxes.get(row.sandbox), row);
      if (words !== null) this.#story.state(row.sandbox, words);
    }
  }
}

/** `tenant/run/rollout/attempt/role`. */
const nameOf = (key: string): string => key.split('/')[2] ?? key;

function rolloutNews(was: RolloutRow | undefined, is: RolloutRow): readonly string[] {
  const news: string[] = [];
  if (was?.state !== is.state) news.push(stateWords(is));
  else if (was.sandbox !== is.sandbox)
    news.push(is.sandbox === '' ? 'stands in line again' : `moves to ${is.sandbox}`);
  if (is.discard !== '' && was?.discard !== is.discard)
    news.push(`is discarded by ${is.discard}: it can never be scored`);
  if (is.broken && was?.broken !== true)
    news.push("has broken its own sandbox: the model's failure, and scorable");
  if (is.score !== '' && was?.score !== is.score) news.push(`is scored ${is.score}, for good`);
  return news;
}

function stateWords({ state, sandbox }: RolloutRow): string {
  switch (state) {
    case 'waiting':
      return 'waits in line for a sandbox';
    case 'claimed':
      return `is granted ${sandbox}`;
    case 'active':
      return `begins its work in ${sandbox}`;
    case 'grading':
      return 'is being graded: no new calls';
    default:
      return `is ${state}`;
  }
}

function sandboxNews(was: SandboxRow | undefined, is: SandboxRow): string | null {
  if (was?.phase === is.phase) return null;
  switch (is.phase) {
    case 'ready':
      return is.owner === '' ? 'is ready in the warm pool' : null;
    case 'unsure':
      return 'does not answer while fleet state is written back: nobody gets it until it does';
    case 'draining':
      return 'is to be removed';
    default:
      return null;
  }
}
