import type { Post } from '#demo/trainer/http.ts';
import type { Random } from '#src/ports/random.ts';
import { droppedConnectionShare } from '../load-model/days.ts';
import { drawWhole, happens } from '../load-model/distributions.ts';

/** Some connections are gone milliseconds after they were made, whatever had been sent by then. */
export function droppingConnections(post: Post, random: Random): Post {
  return (url, headers, body, timeoutMs) => {
    const dropped = happens(random, droppedConnectionShare);
    return post(url, headers, body, dropped ? drawWhole(random, 1, 50) : timeoutMs);
  };
}
