import type { Json } from '../model/grader.ts';

/** A judge elsewhere. Throws `Failure('grader_failed')` when it gave no finite number after its retries. */
export interface Judge {
  score(request: JudgeRequest, signal: AbortSignal): Promise<number>;
}

export type JudgeRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Json;
  readonly timeoutMs: number;
  readonly retries: number;
};
