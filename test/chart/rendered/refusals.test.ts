import { describe, expect, test } from 'vitest';
import { chartFolder, helm, home, renderText } from '#test/support/helm.ts';

// Whoever mistypes a value learns of it, with its place, before anything is asked of the cluster.

describe('the schema refuses', () => {
  test.each([
    ['a mistyped name', ['--set', 'gateway.replica=3'], "at '/gateway': additional properties 'replica'"],
    [
      'a mistyped name deep down',
      ['--set', 'redis.tls.caSecret.file=x'],
      "at '/redis/tls/caSecret': additional",
    ],
    ['a name of another chart', ['--set', 'replicaCount=3'], "at '': additional properties 'replicaCount'"],
    [
      'what cluster.yaml does not know',
      ['--set', 'clusterConfig.nodeLoss=3s'],
      "additional properties 'nodeLoss'",
    ],
    [
      'what values say themselves',
      ['--set', 'clusterConfig.namespace=x'],
      "additional properties 'namespace'",
    ],
    [
      'a network that is always there',
      ['--set', 'clusterConfig.networks.none.dns=None'],
      "at '/clusterConfig/networks/none'",
    ],
    [
      'what policy.yaml does not know',
      ['--set', 'policy.image=x'],
      "at '/policy': additional properties 'image'",
    ],
    ['a fraction, which --set makes a text', ['--set', 'gateway.replicas=0.5'], 'got string, want integer'],
    ['a grace that no gateway takes', ['--set', 'gateway.graceSeconds=0'], "at '/gateway/graceSeconds'"],
    ['a name that is none', ['--set', 'fleet=Red'], "at '/fleet'"],
    ['credentials in an address', ['--set', 'redis.url=redis://me:secret@redis'], "at '/redis/url'"],
    ['a delivery that is none', ['--set', 'sandboxd.delivery=init_container'], "at '/sandboxd/delivery'"],
    [
      'credentials in the address of a collector',
      ['--set', 'tracing.endpoint=http://me:x@otel'],
      "at '/tracing/endpoint'",
    ],
    ['a ratio above all', ['--set', 'tracing.endpoint=http://otel,tracing.ratio=1.5'], "at '/tracing/ratio'"],
    [
      'an address of the console with a path',
      ['--set', 'console.origins={https://example.com/console}'],
      "at '/console/origins/0'",
    ],
    ['half a digest', ['--set', 'image.digest=sha256:11'], "at '/image/digest'"],
  ])('%s', async (_what, change, sentence) => {
    await expect(renderText('minimal', ...change)).rejects.toThrow(sentence);
  });
});

describe('the chart refuses, with what to do instead,', () => {
  test.each([
    ['two Redis', ['--set', 'redis.url=redis://redis'], 'two Redis are named'],
    ['no Redis', ['--set', 'redis.bundled.enabled=false'], 'no Redis is named'],
    [
      'two addresses of Redis',
      [
        '--set',
        'redis.bundled.enabled=false,redis.url=redis://a,redis.existingSecret.name=b,redis.existingSecret.urlKey=c',
      ],
      'both name a Redis',
    ],
    [
      'a Secret without a name',
      ['--set', 'redis.bundled.enabled=false,redis.url=redis://a,redis.existingSecret.passwordKey=c'],
      'but no `name`',
    ],
    [
      'sandboxes among the fleet’s own pods',
      ['--set', `sandboxes.namespace.name=${home}`],
      'cannot share the namespace',
    ],
    ['the namespace default', ['--namespace', 'default'], 'no place for a fleet'],
    ['a console without an address', ['--set', 'console.enabled=true'], '`console.origins` is missing'],
    [
      'an Ingress of the console without a host',
      ['--set', 'console.enabled=true,console.ingress.enabled=true'],
      '`console.ingress.host` is missing',
    ],
    ['images of nobody', ['--set', 'global.imageRegistry='], 'image has no registry'],
    [
      'environments of two places',
      ['--set', 'environments.existingConfigMap=a,environments.image.repository=b'],
      'not from existingConfigMap and image',
    ],
    [
      'certificates for a Redis without TLS',
      ['--set', 'redis.tls.caSecret.name=ca'],
      'is for a Redis over TLS',
    ],
    ['a key of a Secret without a name', ['--set', 'keys.existingSecret.key=x'], 'has a key, but no `name`'],
    ['a ratio of no traces', ['--set', 'tracing.ratio=1'], 'but no `endpoint`'],
    ['an Ingress without a host', ['--set', 'gateway.ingress.enabled=true'], 'ingress.host` is missing'],
    ['a route of no Gateway', ['--set', 'gateway.httpRoute.enabled=true'], 'parentRefs` is missing'],
    ['KEDA without Prometheus', ['--set', 'gateway.autoscaling.kind=keda'], 'prometheusAddress` is missing'],
    ['fewer gateways at most than at least', ['--set', 'gateway.autoscaling.min=11'], 'is above `max`'],
  ])('%s', async (_what, change, sentence) => {
    await expect(renderText('minimal', ...change)).rejects.toThrow(sentence);
  });

  test('a release whose name is too long for names of objects', async () => {
    const long = 'a'.repeat(41);
    await expect(
      helm(['template', long, chartFolder, '-n', 'x', '--set', 'global.imageRegistry=a']),
    ).rejects.toThrow('at most 40 lower-case letters');
  });
});

test('a Kubernetes that is too old is refused', async () => {
  await expect(renderText('minimal', '--kube-version', '1.28.9')).rejects.toThrow('requires kubeVersion');
});
