import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';

/*
 * The fields of Kubernetes objects that are read, and nothing more: what a newer server adds is passed over, and what an
 * object must have to be one of ours is asked for here, once. The checks are compiled: a burst's 500 pods change several
 * times each within a second or two, and an interpreted check takes 0.3 ms.
 */

const text = Type.Optional(Type.String());
const maybeText = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const whole = Type.Optional(Type.Integer());

const ContainerState = Type.Object({
  waiting: Type.Optional(Type.Object({ reason: text, message: text })),
  running: Type.Optional(Type.Object({ startedAt: Type.Optional(Type.Union([Type.String(), Type.Null()])) })),
  terminated: Type.Optional(
    Type.Object({
      exitCode: Type.Integer(),
      signal: whole,
      reason: text,
      message: text,
      finishedAt: maybeText,
    }),
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

/** Read as they are: what is unknown of them is answered for in `node-view.ts`. */
const Toleration = Type.Object({ key: text, operator: text, value: text, effect: text });
export type Toleration = Static<typeof Toleration>;
const Taint = Type.Object({ key: Type.String(), value: text, effect: Type.String() });
export type Taint = Static<typeof Taint>;

const Texts = Type.Optional(Type.Record(Type.String(), Type.String()));

const PodObject = Type.Object({
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
      hostUsers: Type.Optional(Type.Boolean()),
      tolerations: Type.Optional(Type.Array(Toleration)),
      containers: Type.Optional(
        Type.Array(
          Type.Object({
            name: Type.String(),
            env: Type.Optional(Type.Array(Type.Object({ name: Type.String(), value: text }))),
            resources: Type.Optional(Type.Object({ requests: Texts, limits: Texts })),
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

const podCheck = Compile(PodObject);
export const isPod = (value: unknown): value is PodObject => podCheck.Check(value);

const NodeObject = Type.Object({
  metadata: Type.Object({ name: Type.String() }),
  spec: Type.Optional(
    Type.Object({
      unschedulable: Type.Optional(Type.Boolean()),
      taints: Type.Optional(Type.Array(Taint)),
    }),
  ),
  status: Type.Optional(
    Type.Object({
      conditions: Type.Optional(Type.Array(Condition)),
      // Since Kubernetes 1.30, by the container runtime's own word; the one without a name is for pods without a class.
      runtimeHandlers: Type.Optional(
        Type.Array(
          Type.Object({
            name: text,
            features: Type.Optional(
              Type.Union([Type.Object({ userNamespaces: Type.Optional(Type.Boolean()) }), Type.Null()]),
            ),
          }),
        ),
      ),
    }),
  ),
});
export type NodeObject = Static<typeof NodeObject>;

const nodeCheck = Compile(NodeObject);
export const isNode = (value: unknown): value is NodeObject => nodeCheck.Check(value);

const EventList = Type.Object({
  items: Type.Array(
    Type.Object({
      type: text,
      reason: text,
      message: text,
      firstTimestamp: maybeText,
      lastTimestamp: maybeText,
      eventTime: maybeText,
    }),
  ),
});
export type EventList = Static<typeof EventList>;

const eventsCheck = Compile(EventList);
export const isEventList = (value: unknown): value is EventList => eventsCheck.Check(value);
