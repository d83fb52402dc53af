import { expect, test } from 'vitest';
import { aptConfig, mirrorVariables } from './settings.ts';

test('each package manager gets the index of its mirror, and a name of no manager a variable of its own', () => {
  const mirrors = {
    npm: ['https://modules.example/'],
    pypi: ['https://packages.example/simple/', 'https://files.example/'],
    'debian-security': ['http://deb.example/debian-security/'],
    models: ['https://modules.example/models/'],
  };
  expect(mirrorVariables(mirrors)).toEqual({
    APT_CONFIG: '/etc/corral-apt.conf',
    CORRAL_MIRROR_DEBIAN_SECURITY: 'http://127.0.31.1:13141/debian-security/',
    CORRAL_MIRROR_MODELS: 'http://127.0.31.2:13141/models/',
    CORRAL_MIRROR_NPM: 'http://127.0.31.2:13141/',
    CORRAL_MIRROR_PYPI: 'http://127.0.31.3:13141/simple/',
    PIP_INDEX_URL: 'http://127.0.31.3:13141/simple/',
    UV_DEFAULT_INDEX: 'http://127.0.31.3:13141/simple/',
    UV_INDEX_URL: 'http://127.0.31.3:13141/simple/',
    npm_config_registry: 'http://127.0.31.2:13141/',
    npm_config_replace_registry_host: 'always',
  });
  expect(aptConfig(mirrors)).toEqual({
    'corral-apt.conf': 'Acquire::http::Proxy "http://127.0.31.1:13141/";\n',
  });
});

test('apt has no file without a mirror of its packages', () => {
  expect(aptConfig({ pypi: ['https://packages.example/simple/'] })).toEqual({});
});
