/**
 * What a judge's status says, before anybody looks at its words.
 *
 *   score    2xx: the score is in the body
 *   again    429, 5xx, and 408, 425: it is busy or broken; the next try may do better
 *   ours     the statuses below and redirects: wrong for every answer alike, so the environment or its secret is wrong
 *   refused  every other 4xx, such as 400, 403 (a filter in front of it), 413, 422, 451: perhaps about this answer
 *
 * `refused` proves nothing by itself: a model's name that is wrong gives 400 to everybody. So the judge is asked for a
 * harmless answer next, and only where it scores that, the answer is to blame.
 */
export type StatusMeaning = 'score' | 'again' | 'ours' | 'refused';

export function meaningOf(status: number): StatusMeaning {
  if (status >= 200 && status < 300) return 'score';
  if (status >= 500 || passing.has(status)) return 'again';
  return status < 400 || sameForAll.has(status) ? 'ours' : 'refused';
}

const passing = new Set([408, 425, 429]);

const sameForAll = new Set([
  401, // no key, or a wrong one
  402, // its account is empty
  404, // no such address
  405, // no POST there
  406, // it has no JSON
  407, // a proxy wants a key
  410, // the address is gone
  411, // it wants no stream, and gets none
  414, // the address is too long
  415, // it takes no JSON
  421, // another host's address
  426, // another protocol
  431, // our headers are too large
]);
