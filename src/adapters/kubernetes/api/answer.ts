import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { Failure } from '#src/failure/failure.ts';

/** How the API server says no: kind Status. Only what is shown or decided on. */
const StatusObject = Type.Object({
  kind: Type.Literal('Status'),
  reason: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
  code: Type.Optional(Type.Integer()),
});

export type Answer = {
  readonly status: number;
  /** The parsed body; undefined where it is no JSON. */
  readonly value: unknown;
};

const wordsKept = 1000;

/** The server's own words and reason, whatever the body is. */
export function wordsOf({ status, value }: Answer): { readonly reason: string; readonly message: string } {
  const said = Value.Check(StatusObject, value) ? value : null;
  return {
    reason: said?.reason ?? `HTTP ${status}`,
    message: (said?.message ?? 'without a reason').slice(0, wordsKept),
  };
}

/** The status of a watch's ERROR event; 500 where it says none. */
export function statusIn(value: unknown): Answer {
  return { status: Value.Check(StatusObject, value) ? (value.code ?? 500) : 500, value };
}

/**
 * A final refusal as a failure. What says nothing about the sandbox that was asked for (our own rights, a missing
 * namespace, a server in trouble) is `provider_unavailable`, and a spent quota `unschedulable`, since room comes when a
 * neighbour ends; no template's breaker counts these. Everything else that is not accepted (invalid, forbidden by an
 * admission rule) is `start_failed`.
 */
export function refusal(what: string, answer: Answer): Failure {
  const { reason, message } = wordsOf(answer);
  const code = codeOf(answer.status, message);
  return new Failure(code, `the Kubernetes API refused to ${what}: ${message}`, {
    evidence: { httpStatus: answer.status, reason, message },
    ...(code === 'provider_unavailable' ? { retryAfterMs: refusedRetryMs } : {}),
  });
}

/** Rights and namespaces are fixed by people. */
const refusedRetryMs = 5_000;

// RBAC's own sentence: `User "x" cannot create resource "pods" in API group "" in the namespace "y"`. A quota's and an
// admission rule's 403 have other words.
const missingRight = /\bcannot \w+ resource\b/;

// Sources, of Kubernetes 1.34: `checkRequest` of `plugin/pkg/admission/resourcequota` (`staging/src/k8s.io/apiserver`). The
// second is said of a quota so new that nobody has counted yet. One that asks for limits that a pod lacks has other words.
const spentQuota = /\b(exceeded quota|status unknown for quota): /;

function codeOf(status: number, message: string): 'provider_unavailable' | 'unschedulable' | 'start_failed' {
  if (aboutUs(status, message)) return 'provider_unavailable';
  return status === 403 && spentQuota.test(message) ? 'unschedulable' : 'start_failed';
}

function aboutUs(status: number, message: string): boolean {
  if (status >= 500 || status === 429 || status === 401 || status === 404) return true;
  return status === 403 && (missingRight.test(message) || message.includes('is being terminated'));
}
