/**
 * Why a rollout has the score that it has, for the person who asks: kept in the event log only. It holds the truth of its
 * dataset row, so no policy and no key that only plays rollouts is told it.
 */
export type ToldWhy = {
  /** The row's own id, where it has one. */
  readonly itemId: string | null;
  /** The row as JSON text, its first 16 KiB. */
  readonly item: string;
  /** What the grader read of the answer, by where it looked: `output_json.files`. */
  readonly answer: Readonly<Record<string, string>>;
  /** What it compared that with: `item.files`. */
  readonly reference: Readonly<Record<string, string>>;
  /** Every part of the grader, the outermost first. */
  readonly parts: readonly PartReason[];
  /** The end of what the grader's last program said on stderr; empty where none ran. */
  readonly stderr: string;
};

/** `part`: where it stands, `weighted > 2 f1`. */
export type PartReason = { readonly part: string; readonly score: number | null; readonly reason: string };
