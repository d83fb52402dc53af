import { describe, expect, it } from 'vitest';
import { readGatewayConfig } from './config.ts';

const variables = {
  CORRAL_LISTEN: '[::1]:9000',
  CORRAL_REDIS: '/run/redis.sock',
  CORRAL_ENVIRONMENTS: 'environments',
  CORRAL_FLEET_KEY_FILE: 'fleet.key',
  CORRAL_EVENT_LOG_DIR: 'events',
  CORRAL_DEVELOPMENT_KEY: 'secret',
};

const readBadConfig = () => readGatewayConfig({ CORRAL_LISTEN: 'here', CORRAL_MAX_FILE_BYTES: '0' });

describe('the gateway’s settings', () => {
  it('have the defaults of the fleet', () => {
    expect(readGatewayConfig({ ...variables, CORRAL_SECRET_JUDGE: 's3' })).toMatchObject({
      secrets: new Map([['JUDGE', 's3']]),
      host: '::1',
      port: 9000,
      fleet: 'corral',
      eventLog: { folder: 'events', stdout: false, maxBytes: 4_294_967_296 },
      keysFile: null,
      maxHeldRequests: 4_000,
      maxHeldBodyBytes: 536_870_912,
      maxFileBytes: 268_435_456,
      maxTenantRowBytes: 268_435_456,
      drainDelayMs: 15_000,
      shutdownGraceMs: 560_000,
    });
  });

  it('have the sizes of pools that controllers have', () => {
    const sizes = '{"shell": {"max": 20}}';
    const { poolOverrides } = readGatewayConfig({ ...variables, CORRAL_POOL_OVERRIDES: sizes });
    expect([...poolOverrides]).toEqual([['shell', { max: 20 }]]);
  });

  it('need no folder for events that go to standard output alone', () => {
    const { CORRAL_EVENT_LOG_DIR: _folder, ...others } = variables;
    expect(readGatewayConfig({ ...others, CORRAL_EVENT_LOG_TO: 'stdout' })).toMatchObject({
      eventLog: { folder: null, stdout: true },
    });
    expect(() => readGatewayConfig({ ...others, CORRAL_EVENT_LOG_TO: 'folder,stdout' })).toThrow(
      'CORRAL_EVENT_LOG_DIR is not set',
    );
  });

  it('have a door for callers beyond this machine only with keys, and with both files of a certificate', () => {
    const outer = { ...variables, CORRAL_OUTER_LISTEN: '0.0.0.0:8700', CORRAL_KEYS_FILE: 'keys.json' };
    const files = { CORRAL_OUTER_TLS_CERT_FILE: 'c.pem', CORRAL_OUTER_TLS_KEY_FILE: 'k.pem' };
    expect(readGatewayConfig(variables).outerDoor).toBeNull();
    expect(readGatewayConfig({ ...outer, ...files }).outerDoor).toEqual({
      host: '0.0.0.0',
      port: 8700,
      tls: { certFile: 'c.pem', keyFile: 'k.pem' },
    });
    expect(() => readGatewayConfig({ ...outer, CORRAL_KEYS_FILE: '' })).toThrow('needs CORRAL_KEYS_FILE');
    expect(() => readGatewayConfig({ ...outer, CORRAL_OUTER_TLS_CERT_FILE: 'c.pem' })).toThrow('or neither');
    expect(() => readGatewayConfig({ ...outer, CORRAL_OUTER_LISTEN: 'here' })).toThrow('not host:port');
  });

  it('name every mistake at once', () => {
    for (const part of [
      'CORRAL_LISTEN',
      'CORRAL_REDIS',
      'CORRAL_MAX_FILE_BYTES',
      'nobody could use this gateway',
    ]) {
      expect(readBadConfig).toThrow(part);
    }
  });
});
