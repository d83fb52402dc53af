import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubeconfigOf } from './kubeconfig.ts';
import { run } from './machine/run.ts';
import {
  apiAddressInHub,
  apiPort,
  apiServiceAddress,
  type ClusterPlan,
  hubAddress,
  type NodePlan,
} from './plan.ts';

type Certificate = {
  readonly name: string;
  readonly subject: string;
  /** For servers: the names and addresses by which they are called. */
  readonly calledBy?: string;
};

/** Where the API server is for whoever is not in the hub. */
const apiAddress = `https://${hubAddress}:${apiPort}`;

const apiServer: Certificate = {
  name: 'apiserver',
  subject: '/CN=kube-apiserver',
  calledBy: [
    'DNS:localhost',
    'DNS:kubernetes',
    'DNS:kubernetes.default',
    'DNS:kubernetes.default.svc',
    'DNS:kubernetes.default.svc.cluster.local',
    'IP:127.0.0.1',
    `IP:${apiServiceAddress}`,
    `IP:${hubAddress}`,
  ].join(','),
};

/** The subject is the identity: CN is the user, O the group that the API server's roles are bound to. */
const inTheHub: readonly Certificate[] = [
  { name: 'admin', subject: '/O=system:masters/CN=admin' },
  { name: 'controller-manager', subject: '/CN=system:kube-controller-manager' },
  { name: 'scheduler', subject: '/CN=system:kube-scheduler' },
];
/** Every node's, as most clusters have it: one user, who reads Services everywhere. */
const kubeProxy: Certificate = { name: 'kube-proxy', subject: '/CN=system:kube-proxy' };
const kubeletClient: Certificate = {
  name: 'kubelet-client',
  subject: '/O=system:masters/CN=apiserver-kubelet-client',
};
const ofNode = (name: string): Certificate => ({
  name,
  subject: `/O=system:nodes/CN=system:node:${name}`,
});

/** One authority for everything, a certificate for each program, and a kubeconfig beside it for those that are clients. */
export async function makeCertificates(plan: ClusterPlan): Promise<void> {
  const folder = plan.certificates;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await Promise.all([makeAuthority(folder), makeServiceAccountKey(folder)]);
  const onNodes = [kubeProxy, ...plan.nodes.map(({ name }) => ofNode(name))];
  const all = [apiServer, kubeletClient, ...inTheHub, ...onNodes];
  await Promise.all(all.map((certificate) => sign(folder, certificate)));
  await Promise.all([
    ...inTheHub.map(({ name }) => writeKubeconfig(folder, name, apiAddressInHub)),
    ...onNodes.map(({ name }) => writeKubeconfig(folder, name, apiAddress)),
  ]);
  await copyFile(join(folder, 'admin.kubeconfig'), plan.kubeconfig);
}

/** The same for a node that joins later. */
export async function makeNodeCertificate({ certificates }: ClusterPlan, { name }: NodePlan): Promise<void> {
  await sign(certificates, ofNode(name));
  await writeKubeconfig(certificates, name, apiAddress);
}

const writeKubeconfig = (folder: string, client: string, server: string) =>
  writeFile(join(folder, `${client}.kubeconfig`), kubeconfigOf(folder, client, server), { mode: 0o600 });

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
/** Longer than any cluster of tests is kept. */
const days = ['-days', '365'];

async function makeAuthority(folder: string): Promise<void> {
  await openssl(folder, 'req -x509', [...newKey, ...days, '-subj', '/CN=corral-cluster'], 'ca.key', 'ca.crt');
}

/** With this key the controller-manager signs the tokens of service accounts, and the API server checks them. */
async function makeServiceAccountKey(folder: string): Promise<void> {
  await run(['openssl', 'genrsa', '-out', 'service-accounts.key', '2048'], { cwd: folder });
  const parts = ['-in', 'service-accounts.key', '-pubout', '-out', 'service-accounts.pub'];
  await run(['openssl', 'rsa', ...parts], { cwd: folder });
}

async function sign(folder: string, { name, subject, calledBy }: Certificate): Promise<void> {
  const [request, extensions] = [`${name}.csr`, `${name}.ext`];
  await openssl(folder, 'req', [...newKey, '-subj', subject], `${name}.key`, request);
  const usage = calledBy === undefined ? 'clientAuth' : `serverAuth\nsubjectAltName=${calledBy}`;
  await writeFile(join(folder, extensions), `extendedKeyUsage=${usage}\n`);
  const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-set_serial', serialOf(name)];
  const parts = ['-req', '-in', request, ...authority, ...days, '-extfile', extensions];
  await run(['openssl', 'x509', ...parts, '-out', `${name}.crt`], { cwd: folder });
  await Promise.all([request, extensions].map((file) => rm(join(folder, file))));
}

/** One authority never signs two certificates with the same serial number; names differ, so their bytes serve. */
const serialOf = (name: string): string => `0x01${Buffer.from(name).toString('hex')}`;

const openssl = (folder: string, command: string, parts: readonly string[], key: string, out: string) =>
  run(['openssl', ...command.split(' '), ...parts, '-keyout', key, '-out', out], { cwd: folder });
