import { Type } from 'typebox';
import type { Static } from 'typebox';

/*
 * The fields of Kubernetes objects that are read, and nothing more: what a newer server adds is passed over, and what an
 * object must have to be one of ours is asked for here, once.
 */

const text = Type.Optional(Type.String());
const whole = Type.Optional(Type.Integer());

const ContainerState = Type.Object({
  waiting: Type.Optional(Type.Object({ reason: text, message: text })),
  running: Type.Optional(Type.Object({ startedAt: Type.Optional(Type.Union([Type.String(), Type.Null()])) })),
  terminated: Type.Optional(
    Type.Object({ exitCode: Type.Integer(), signal: whole, reason: text, message: text }),
  ),
});
export type ContainerState = Static<typeof ContainerState>;

const ContainerStatus = Type.Object({
  name: Type.String(),
  state: Type.Optional(ContainerState),
  restartCount: whole,
});
export type ContainerStatus = Static<typeof ContainerStatus>;

const Condition = Type.Object({
  type: Type.String(),
  status: Type.String(),
  reason: text,
  message: text,
});
export type Condition = Static<typeof Condition>;

const Texts = Type.Optional(Type.Record(Type.String(), Type.String()));

export const PodObject = Type.Object({
  metadata: Type.Object({
    name: Type.String(),
    uid: Type.String(),
    creationTimestamp: Type.String(),
    deletionTimestamp: text,
    labels: Texts,
    annotations: Texts,
  }),
  spec: Type.Optional(
    Type.Object({
      nodeName: text,
      containers: Type.Optional(
        Type.Array(
          Type.Object({
            name: Type.String(),
            env: Type.Optional(Type.Array(Type.Object({ name: Type.String(), value: text }))),
          }),
        ),
      ),
    }),
  ),
  status: Type.Optional(
    Type.Object({
      phase: text,
      reason: text,
      message: text,
      podIP: text,
      startTime: text,
      conditions: Type.Optional(Type.Array(Condition)),
      initContainerStatuses: Type.Optional(Type.Array(ContainerStatus)),
      containerStatuses: Type.Optional(Type.Array(ContainerStatus)),
    }),
  ),
});
export type PodObject = Static<typeof PodObject>;

export const NodeObject = Type.Object({
  metadata: Type.Object({ name: Type.String() }),
  status: Type.Optional(Type.Object({ conditions: Type.Optional(Type.Array(Condition)) })),
});
export type NodeObject = Static<typeof NodeObject>;

export const EventList = Type.Object({
  items: Type.Array(Type.Object({ type: text, reason: text, message: text })),
});
export type EventList = Static<typeof EventList>;
