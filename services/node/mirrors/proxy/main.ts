import type { SendHandle } from 'node:child_process';
import { type ProxyMessage, readProxyOrder } from '../messages.ts';
import { createReports } from './reports.ts';
import { serve } from './serve.ts';
import { readSystemCertificates } from './upstream.ts';

/*
 * The proxy of one sandbox: asks package mirrors for it, on this machine's network. What it reads is written by strangers, so it has neither
 * rights nor files of others, and its death costs this sandbox alone.
 */

/** The user that owns nothing. */
const ownId = 65_534;

const say = (message: ProxyMessage): void => void process.send?.(message, undefined, {}, () => undefined);

// The machine's certificates are read as root, because an operator may have closed them to others.
readSystemCertificates();
process.setgroups?.([]);
process.setgid?.(ownId);
process.setuid?.(ownId);
process.on('disconnect', () => process.exit());
// A terminal's Ctrl-C is node's, which ends its sandboxes first.
process.on('SIGINT', () => undefined);

const reports = createReports(say);

process.on('message', (value: unknown, door: SendHandle) => {
  const order = readProxyOrder(value);
  if (order.kind === 'standing') return reports.heard(order.doubt);
  void serve(order, door, reports).then((asked) => say({ kind: 'serves', ...asked }));
});
say({ kind: 'ready' });
