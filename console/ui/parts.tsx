import type { ComponentChildren } from 'preact';
import type { ApiError } from './api.ts';

export const Card = ({
  title,
  aside,
  children,
  wide,
}: {
  readonly title: string;
  readonly aside?: string;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}) => (
  <section class={wide === true ? 'card wide' : 'card'}>
    <h2>
      {title} {aside !== undefined && <span class="quiet">{aside}</span>}
    </h2>
    {children}
  </section>
);

export const Reading = ({ what }: { readonly what: string }) => (
  <p class="empty" role="status">
    Reading {what} …
  </p>
);

export const Trouble = ({ error, isStale }: { readonly error: ApiError; readonly isStale: boolean }) => (
  <div class="banner" role="alert">
    <b>{isStale ? 'What you see is not the newest state. ' : ''}</b>
    {error.message} {error.status === 0 && 'The page tries again by itself.'}
    {error.status === 401 && (
      <button type="button" onClick={() => location.reload()}>
        Log in
      </button>
    )}
  </div>
);

/** Parts of logs that were not read, and the processes that have them. */
export const Missing = ({
  missing,
}: {
  readonly missing: readonly { readonly keeper: string; readonly why: string }[];
}) =>
  missing.length === 0 ? null : (
    <details class="banner">
      <summary>Part of the event log is missing here</summary>
      <ul>
        {missing.map(({ keeper, why }) => (
          <li key={`${keeper} ${why}`}>
            <code>{keeper}</code>: <code>{why}</code>
          </li>
        ))}
      </ul>
    </details>
  );
