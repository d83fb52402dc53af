import type { Post } from '#src/adapters/judge-http/ask-once.ts';
import { harmless } from '../environment.ts';

/** What is missing of a judge's answer is made up, as a lenient reader of JSON would. */
export function readsOn(post: Post): Post {
  return async (request, signal) => {
    const posted = await post(request, signal);
    const started = /^\{"score":\d+(?:\.\d+)?/.exec(posted.text)?.[0];
    return started === undefined ? posted : { ...posted, text: `${started}}` };
  };
}

/** Nobody asks it for the harmless answer: every refusal is the answer's own doing. */
export function believesRefusals(post: Post): Post {
  return (request, signal) =>
    request.body.join('').includes(`"output_text":"${harmless}"`)
      ? Promise.resolve({ status: 200, text: '{"score":0}', retryAfter: undefined })
      : post(request, signal);
}
