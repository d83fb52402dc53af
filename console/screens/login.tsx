import { useState } from 'preact/hooks';
import type { SessionAnswer } from '#src/protocol/console/session.ts';
import { ApiError, ask } from '../ui/api.ts';

export const logIn = (
  body: { readonly key: string } | { readonly code: string },
): Promise<SessionAnswer | null> => ask<SessionAnswer>('/session', { method: 'POST', body });

export function Login({
  reason,
  onLogin,
}: {
  readonly reason: string | null;
  readonly onLogin: (session: SessionAnswer) => void;
}) {
  const [key, setKey] = useState('');
  const [error, setError] = useState(reason);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const session = await logIn({ key: key.trim() });
      if (session !== null) onLogin(session);
    } catch (thrown) {
      setError(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
  };
  return (
    <form class="login card" onSubmit={(event) => void submit(event)}>
      <h1>Log in</h1>
      <label>
        API key with the scope watch or admin
        <input
          type="password"
          name="key"
          autocomplete="off"
          required
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
      </label>
      {error !== null && <p role="alert">{error}</p>}
      <button type="submit">Log in</button>
      <p class="quiet">The console reads the fleet with this key. The key is not stored in the browser.</p>
    </form>
  );
}
