import { once } from 'node:events';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const Message = Type.Object({
  id: Type.Optional(Type.Number()),
  method: Type.Optional(Type.String()),
  params: Type.Optional(Type.Unknown()),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ message: Type.String() })),
});
type Listener = (method: string, parameters: unknown) => void;

export type DevTools = Awaited<ReturnType<typeof connectDevTools>>;

/** A connection to one tab by Chromium's DevTools protocol. */
export async function connectDevTools(url: string) {
  const socket = new WebSocket(url);
  const answers = new Map<number, PromiseWithResolvers<unknown>>();
  const listeners = new Set<Listener>();
  socket.addEventListener('message', ({ data }) => {
    const message = Value.Parse(Message, JSON.parse(String(data)));
    if (message.id !== undefined) settle(answers, message.id, message.result, message.error?.message);
    if (message.method !== undefined) for (const listen of listeners) listen(message.method, message.params);
  });
  await once(socket, 'open');
  let last = 0;
  return {
    send(method: string, params: object = {}): Promise<unknown> {
      last += 1;
      const answer = Promise.withResolvers<unknown>();
      answers.set(last, answer);
      socket.send(JSON.stringify({ id: last, method, params }));
      return answer.promise;
    },
    /** All events of a kind from now on, until it is stopped. */
    collect(method: string) {
      const events: unknown[] = [];
      const listen: Listener = (name, parameters) => void (name === method && events.push(parameters));
      listeners.add(listen);
      return { stop: () => (listeners.delete(listen), events) };
    },
    /** The next event of a kind that is the right one. */
    next(method: string, isRight: (parameters: unknown) => boolean): Promise<unknown> {
      return new Promise((resolve) => {
        const listen: Listener = (name, parameters) => {
          if (name !== method || !isRight(parameters)) return;
          listeners.delete(listen);
          resolve(parameters);
        };
        listeners.add(listen);
      });
    },
    close: () => socket.close(),
  };
}

function settle(
  answers: Map<number, PromiseWithResolvers<unknown>>,
  id: number,
  result: unknown,
  error: string | undefined,
): void {
  const answer = answers.get(id);
  answers.delete(id);
  if (error === undefined) answer?.resolve(result);
  else answer?.reject(new Error(error));
}
