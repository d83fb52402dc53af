import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCompose } from './read-compose.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-compose-'));
  mkdirSync(join(folder, 'environment'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (text: string) => {
  writeFileSync(join(folder, 'environment/docker-compose.yaml'), text);
  return readCompose(folder);
};

test('a task without the file, and a file that is not of compose, demand one service', () => {
  expect(readCompose(folder)).toEqual({ services: 1, settings: [] });
  for (const text of ['', 'services: 3', ': [']) expect(read(text)).toEqual({ services: 1, settings: [] });
});

test('services are counted together with main, which a file need not name', () => {
  expect(read('services: { main: {}, store: {} }').services).toBe(2);
  expect(read('services: { store: {} }').services).toBe(2);
});

test('what a task cannot see of its container, and what Harbor fills in by itself, is no demand', () => {
  const { settings } = read(`
services:
  main:
    build: { context: "\${CONTEXT_DIR}" }
    image: \${MAIN_IMAGE_NAME}
    container_name: task
    ports: ["3000:3000"]
    command: [sh, -c, sleep infinity]
    network_mode: \${NETWORK_MODE:-bridge}
    environment: ["TEST_DIR=\${TEST_DIR}"]
    volumes: ["\${HOST_VERIFIER_LOGS_PATH}:\${ENV_VERIFIER_LOGS_PATH}"]
    deploy: { resources: { limits: { cpus: "\${CPUS}", memory: "\${MEMORY}" } } }
`);
  expect(settings).toEqual([]);
});

test.each([
  ['environment', '{ MODE: strict }'],
  ['environment', '["TOKEN=${TOKEN}", "TEST_DIR=${TEST_DIR}"]'],
  ['volumes', '["./data:/data"]'],
  ['volumes', '["${HOME}/.config:/root/.config"]'],
  ['command', '[sh, -c, "service postgresql start && sleep infinity"]'],
  ['entrypoint', '/start.sh'],
  ['cap_add', '[SYS_ADMIN]'],
  ['privileged', 'true'],
  ['network_mode', 'host'],
  ['shm_size', '1gb'],
  ['working_dir', '/srv'],
])('a setting that a task can see is named: %s: %s', (name, value) => {
  expect(read(`services: { main: { image: a, ${name}: ${value} } }`).settings).toEqual([name]);
});

test('a file that includes others is named for that', () => {
  expect(read('include: [more.yaml]\nservices: { main: {} }').settings).toEqual(['include']);
});
