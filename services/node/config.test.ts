import { describe, expect, it } from 'vitest';
import { loadConfig } from './config.ts';

const good = { CORRAL_NODE_STATE_DIR: '/run/corral', CORRAL_PAYLOAD_DIR: '/opt/payload' };

describe('the configuration of node', () => {
  it('needs two folders and has a default for the rest', () => {
    expect(loadConfig(good)).toEqual({
      stateFolder: '/run/corral',
      dataFolder: '/run/corral/data',
      fleet: 'local',
      payloadFolder: '/opt/payload',
      startConcurrency: 8,
      userNamespaces: 'auto',
      memoryPercent: 800,
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

  it('refuses a state folder in which no socket would fit, and says how long it may be', () => {
    const long = { ...good, CORRAL_NODE_STATE_DIR: `/${'x'.repeat(60)}` };
    expect(() => loadConfig(long)).toThrow(/longer than 53 bytes/);
  });
});
