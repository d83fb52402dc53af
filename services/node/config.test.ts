import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.ts';

const good = { CORRAL_NODE_STATE_DIR: '/run/corral', CORRAL_PAYLOAD_DIR: '/opt/payload' };
const ranges = (text: string) => loadConfig({ ...good, CORRAL_PRIVATE_ADDRESSES: text }).privateAddresses;

const authFiles = (value: string) => loadConfig({ ...good, CORRAL_IMAGE_AUTH_FILES: value }).imageAuthFiles;

describe('the configuration of node', () => {
  it('needs two folders and has a default for the rest', () => {
    expect(loadConfig(good)).toEqual({
      stateFolder: '/run/corral',
      dataFolder: '/run/corral/data',
      imageFolder: '/run/corral/images',
      imageBytes: null,
      imageAuthFiles: [],
      fleet: 'local',
      payloadFolder: '/opt/payload',
      startConcurrency: 8,
      userNamespaces: 'auto',
      memoryPercent: 800,
      privateAddresses: [],
      mirrorBytes: 8 * 1024 ** 3,
      exitWithParent: false,
      logLevel: 'info',
    });
  });

  it('names every mistake at once', () => {
    const mistakes = {
      CORRAL_NODE_STATE_DIR: 'relative',
      CORRAL_FLEET: '../x',
      CORRAL_NODE_START_CONCURRENCY: '0',
    };
    expect(() => loadConfig(mistakes)).toThrow(/4 mistake/);
  });

  it('takes several files of credentials, by absolute paths', () => {
    expect(authFiles('/etc/a.json:/etc/b.json')).toEqual(['/etc/a.json', '/etc/b.json']);
    expect(() => authFiles('/etc/a.json:b.json')).toThrow(/CORRAL_IMAGE_AUTH_FILES has b.json/);
  });

  it('takes ranges of addresses that mirrors may have', () => {
    expect(ranges('10.3.0.0/16, fd00::1')).toEqual([
      { address: '10.3.0.0', prefix: 16 },
      { address: 'fd00::1', prefix: 128 },
    ]);
    expect(() => ranges('10.3.0.0/16,mirror')).toThrow(/CORRAL_PRIVATE_ADDRESSES has mirror/);
  });

  it('refuses a state folder in which no socket would fit, and says how long it may be', () => {
    const long = { ...good, CORRAL_NODE_STATE_DIR: `/${'x'.repeat(60)}` };
    expect(() => loadConfig(long)).toThrow(/longer than 53 bytes/);
  });
});
