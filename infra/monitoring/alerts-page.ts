import { type AlertName, alertOf, groups } from './rules/rules.ts';

const head = `<!-- Written by tools/write-rules.ts from infra/monitoring/rules. Change the rules there. -->

# Alerts

When an alert fires:

1. Open its runbook: the link in the tables below, or \`runbook_url\` of the alert. Set [\`docs\`](operators.md#links-to-these-pages) to the address of your site, or that link is a path.
2. Set the variables [below](#variables-of-the-runbooks).
3. Run the runbook's first checks. If another alert explains this one, start with that runbook.
4. Follow **Then**, and wait for **Resolution**.

All alerts: which of them page, who receives them, and the runbook for each. The rules come with the [chart](../charts/corral/README.md)
(\`monitoring.rules.enabled\`); a Prometheus without the operator takes the \`spec\` of the object that
\`helm template lab charts/corral --values my-values.yaml --show-only templates/monitoring/prometheusrule.yaml\` prints. They need the labels
\`namespace\`, \`pod\`, \`component\` and \`fleet\`, which the chart's PodMonitor gives.

**Whom they are for** is the label \`blame\`, as everywhere in Corral: \`infrastructure\` is the fleet’s operator, \`model\` is the team that trains the policy,
\`caller\` is the owner of a training job. Only \`critical\` pages, and only infrastructure has critical alerts: a policy that breaks its
sandboxes does not page. [An example for Alertmanager](../infra/monitoring/alertmanager.example.yml) routes by it, and holds back what another alert explains.

**Objectives** are \`monitoring.rules.lostRollouts\` and \`monitoring.rules.toolCalls\`: of the rollouts that ended, and of the tool calls that settled, at most so many
fail because of the infrastructure. Both are 0.001 by default. A rollout whose own command may have ended its sandbox counts for neither.

**What a night with them is like** shows [the walk-through](walk-through.md): a node dies during a burst, and what alert, \`corral top\`, dashboard, trace and report say of it.

## Variables of the runbooks

Runbooks use \`corral\`, \`kubectl\` and Prometheus. Their commands need the alert's labels, the namespace of the sandboxes, and a key of scope \`watch\`. With \`truth\` the key reads reasons of verdicts too.
[Scopes](keys.md#scopes-of-api-keys) has what either reads:

\`\`\`sh
export FLEET=lab NAMESPACE=corral SANDBOXES=lab-sandboxes
export CORRAL_URL=https://gateway.example.com CORRAL_KEY=…
\`\`\`
`;

const tableHead = '| alert | severity | blame | fires when | explained by |\n| --- | --- | --- | --- | --- |';

const titles: Readonly<Record<string, string>> = {
  'corral.objectives': 'Objectives',
  'corral.sandboxes': 'Sandboxes',
  'corral.machinery': 'Machinery',
  'corral.others': 'Policies and callers',
};

/** docs/alerts.md, whole. */
export function alertsPage(): string {
  const parts = groups.map(
    ({ name, alerts }) => `## ${titles[name] ?? name}\n\n${tableHead}\n${alerts.map(row).join('\n')}\n`,
  );
  return `${head}\n${parts.join('\n')}`;
}

const linked = (name: string) => `[${name}](runbooks/${name}.md)`;

function row(name: AlertName): string {
  const { severity, blame, when, consequenceOf = [] } = alertOf(name);
  const cells = [linked(name), severity, blame, when, consequenceOf.map(linked).join(', ')];
  return `| ${cells.join(' | ')} |`;
}

/** The line below the title of an alert's own page. */
export function factsOf(name: AlertName): string {
  const { severity, blame, when } = alertOf(name);
  return `**${severity}**, blame **${blame}**. Fires when ${when}.`;
}
