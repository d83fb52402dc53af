/**
 * Expressions that are not linear for certain by the rule of backtracking.ts, each with why it does no harm: its text is
 * bounded or not a stranger's, or there is only one way to match it.
 */
export type Known = {
  readonly file: string;
  /** Null: made while the program runs. */
  readonly pattern: string | null;
  readonly because: string;
};

export const known: readonly Known[] = [
  {
    file: 'cli/fleet/log-file.ts',
    pattern: String.raw`(\.\w+)$`,
    because: 'a path of our own',
  },
  {
    file: 'cli/gateway/connection.ts',
    pattern: String.raw`\/+$`,
    because: 'the URL that the person at this command line gave',
  },
  {
    file: 'cli/preflight/egress/look-around.ts',
    pattern: String.raw`^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A `,
    because: 'no two of its quantifiers can repeat the same character, and lines are cut to their table',
  },
  {
    file: 'cli/preflight/egress/targets.ts',
    pattern: String.raw`^(?<host>\[[^\]]+\]|[^:]+):(?<port>\d{1,5})$`,
    because: 'of the choices one begins with [ and the other cannot go on past a colon: one way to match',
  },
  {
    file: 'services/gateway/config.ts',
    pattern: String.raw`^(\[[0-9a-f:]+\]|[^:\s]+):\d{1,5}$`,
    because: "the operator's own setting",
  },
  {
    file: 'services/gateway/http/answer-failure.ts',
    pattern: String.raw`^[a-z][a-z0-9+.-]*:\/\/[^/?#]*`,
    because: 'what the first repeats cannot be the colon behind it, and nothing behind the second can fail',
  },
  {
    file: 'services/sandboxd/helper/tools/search.ts',
    pattern: null,
    because:
      "the model's own expression, in a helper process of the policy's user, with the tool's time limit",
  },
  {
    file: 'src/access/authorise.ts',
    pattern: String.raw`^bearer +(\S+) *$`,
    because: 'blanks, then what is no blank, then blanks: one way to match',
  },
  {
    file: 'src/adapters/kubernetes/api/answer.ts',
    pattern: String.raw`\bcannot \w+ resource\b`,
    because: "a message of the API server's",
  },
  {
    file: 'src/adapters/kubernetes/api/credentials.ts',
    pattern: String.raw`\/+$`,
    because: "the operator's own kubeconfig",
  },
  {
    file: 'src/adapters/kubernetes/truth/ending.ts',
    pattern: String.raw`^(Usage of EmptyDir volume .* exceeds the limit|Pod ephemeral local storage usage exceeds|Container \S+ exceeded its local ephemeral storage limit)`,
    because: "a message of the kubelet's",
  },
  {
    file: 'src/adapters/kubernetes/truth/start-trouble.ts',
    pattern: String.raw`^(OutOf\w+|Node\w+|TopologyAffinityError|Preempting|Evicted|Terminated|Shutdown)$`,
    because: "a reason of the kubelet's: each choice has one quantifier behind letters of its own",
  },
  {
    file: 'src/adapters/redis/memory-store.ts',
    pattern: null,
    because: "Redis' own INFO",
  },
  {
    file: 'src/environments/compile/texts.ts',
    pattern: String.raw`\{\w+\}`,
    because: "the author's text of at most 500 characters; braces are no word characters",
  },
  {
    file: 'src/environments/quantities.ts',
    pattern: String.raw`^(\d+(?:\.\d+)?)([A-Za-z]*)$`,
    because: 'digits, a dot, digits, letters: one way to match',
  },
  {
    file: 'src/grading/graders/text.ts',
    pattern: null,
    because: 'at most 100 characters',
  },
  {
    file: 'src/model/placeholder.ts',
    pattern: String.raw`\{\{([A-Za-z_][\w.-]*)\}\}|\{([A-Za-z_][\w.-]*)\}`,
    because: "the author's command; a name holds no brace, so each is read once",
  },
  {
    file: 'src/tools/render-output.ts',
    pattern: String.raw`\{(\w+)\}`,
    because: "the author's text of at most 500 characters; braces are no word characters",
  },
  {
    file: 'src/tools/parameter-schema.ts',
    pattern: null,
    because: 'compiled to see that it is valid, and never matched',
  },
  {
    file: 'src/tools/tool-definitions.ts',
    pattern: String.raw`\/+$`,
    because: "the operator's own URL",
  },
];
