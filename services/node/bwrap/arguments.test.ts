import { describe, expect, it } from 'vitest';
import { testTemplate } from '#test/support/sandboxes.ts';
import { hostSettings } from '../image/read-image.ts';
import { writablePlaces } from '../sandbox/writable-places.ts';
import { bwrapArguments, type Plan } from './arguments.ts';

const plan: Plan = {
  sandbox: 's-1',
  template: testTemplate({
    env: { GREETING: 'hello there', CORRAL_USERS: 'root' },
  }),
  tokenSha256: 'f'.repeat(64),
  users: 'two-user',
  ownIds: true,
  overlay: null,
  image: hostSettings('user'),
  writable: writablePlaces({ data: [] }, 'two-user', null, hostSettings('user')),
  root: [{ kind: 'bind', source: '/usr', target: '/usr' }],
  etc: {},
  kept: [],
  emptyFile: '/etc-of-ours/empty',
  payloadFolder: '/payload',
  data: [{ source: '/corpus', target: '/data/deep' }],
  makesNetwork: false,
  filterDescriptor: 5,
  runFolder: '/state/run',
  diskFolder: '/state/disk',
  terminalsFolder: '/stage/pts',
  group: [
    { path: '/sys/fs/cgroup/memory/x', hierarchy: 'memory' },
    { path: '/sys/fs/cgroup/cpuacct/x', hierarchy: 'cpuacct' },
  ],
  memoryKillsFile: '/sys/fs/cgroup/memory/x/memory.oom_control',
  cpuTimeFile: '/sys/fs/cgroup/cpuacct/x/cpuacct.usage',
  hiddenFiles: ['/proc/keys'],
};

const text = (changes: Partial<Plan> = {}) => bwrapArguments({ ...plan, ...changes }).join(' ');

describe('bwrapArguments', () => {
  it('as root keeps the ids apart: no user namespace, and only what starting commands needs', () => {
    expect(text()).toContain(
      '--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_KILL --unshare-pid',
    );
    expect(text()).not.toMatch(/--unshare-(?:user|net)/);
  });

  it('limits the processes of an id only if that id is the sandbox’s own', () => {
    const { processes } = plan.template;
    expect(text()).toContain(`--setenv CORRAL_POLICY_PROCESSES ${processes} `);
    expect(text({ ownIds: false })).not.toContain('CORRAL_POLICY_PROCESSES');
  });

  it('without root takes a user namespace with one id and no capability', () => {
    const single = text({ users: 'single-user', diskFolder: null, makesNetwork: true });
    expect(single).toContain('--unshare-user --uid 1000 --gid 1000 --cap-drop ALL --unshare-pid');
    expect(single).toContain('--unshare-net');
    expect(single).not.toContain('--cap-add');
  });

  it('without root limits each writable folder, since there is no disk of ours', () => {
    const size = String(plan.template.diskBytes);
    const writable = writablePlaces({ data: [] }, 'single-user', null, plan.image);
    const single = text({ users: 'single-user', diskFolder: null, writable });
    expect(single).toContain(`--perms 0755 --size ${size} --tmpfs /workspace`);
    expect(single).toContain(`--perms 1777 --size ${size} --tmpfs /tmp`);
    expect(single).toContain(`--dir /home --perms 0700 --size ${size} --tmpfs /home/policy`);
  });

  it("mounts the template's folders from the sandbox's disk, or limited without one", () => {
    const template = { ...plan.template, folders: ['/logs/verifier'] };
    const writable = writablePlaces(template, 'two-user', null, plan.image);
    expect(text({ template, writable })).toContain('--dir /logs --bind /state/disk/folder-0 /logs/verifier');
    expect(text({ template, writable })).toContain('--setenv CORRAL_FOLDERS /logs/verifier');
    expect(text({ template, writable, diskFolder: null })).toContain('--tmpfs /logs/verifier');
  });

  it('names the folders above a mount, so that the command can pass them', () => {
    expect(text()).toContain('--dir /data --ro-bind /corpus /data/deep');
    expect(text()).toContain('--dir /.corral --ro-bind /payload /.corral/payload');
  });

  it("binds the kernel's settings read-only over /proc and hides the machine's own files", () => {
    expect(text()).toContain('--proc /proc --ro-bind /proc/sys /proc/sys --ro-bind /dev/null /proc/keys');
  });

  it('binds the terminals that are limited over the others', () => {
    expect(text()).toContain('--dev /dev --dev-bind /stage/pts /dev/pts');
    expect(text({ terminalsFolder: null })).not.toContain('--dev-bind');
  });

  it('gives sandboxd the variables of an image in one of its own, but for those that the environment sets', () => {
    const env = { LD_PRELOAD: '/x.so', GREETING: 'good day' };
    const options = bwrapArguments({ ...plan, image: { ...hostSettings('user'), env } });
    expect(options.join(' ')).toContain('--setenv CORRAL_IMAGE_ENV {"LD_PRELOAD":"/x.so"}');
    expect(options).not.toContain('LD_PRELOAD');
    expect(text()).not.toContain('CORRAL_IMAGE_ENV');
  });

  it("works where the image says, which is the image's own to be written or not, and in its home", () => {
    const said = text({ image: { ...hostSettings('user'), workdir: '/app', home: '/home/dev' } });
    expect(said).toContain('--setenv CORRAL_WORKSPACE /app --setenv CORRAL_WORKSPACE_FROM image');
    expect(said).toContain('--setenv HOME /home/dev');
    const ours = text({ image: { ...hostSettings('user'), workdir: '/workspace' } });
    expect(ours).toContain('--setenv CORRAL_WORKSPACE /workspace');
    expect(ours).toContain('--setenv HOME /home/policy');
    expect(ours).not.toContain('CORRAL_WORKSPACE_FROM');
  });

  it('names the sandbox in HOSTNAME, as container engines do, if the template has no other', () => {
    expect(text()).toContain('--setenv HOSTNAME s-1');
    expect(text({ template: { ...plan.template, env: { HOSTNAME: 'web' } } })).toContain(
      '--setenv HOSTNAME web',
    );
  });

  it('makes the root read-only after the last mount', () => {
    const options = bwrapArguments(plan);
    const remount = options.indexOf('--remount-ro');
    expect(remount).toBeGreaterThan(options.lastIndexOf('--ro-bind'));
    expect(remount).toBeGreaterThan(options.lastIndexOf('--bind'));
  });

  it('puts nothing in place of settings of the host, before what the template mounts, and read-only after it', () => {
    const options = text({
      kept: [
        { path: '/usr/etc', kind: 'folder' },
        { path: '/usr/share/x/npmrc', kind: 'file' },
      ],
    });
    expect(options).toContain('--tmpfs /usr/etc --ro-bind /etc-of-ours/empty /usr/share/x/npmrc --proc');
    expect(options).toContain('--ro-bind /corpus /data/deep --remount-ro /usr/etc --remount-ro /');
  });

  it('shows the sandbox its own control group where programs look for their limits', () => {
    expect(text()).toContain(
      '--dir /sys --dir /sys/fs --dir /sys/fs/cgroup --ro-bind /sys/fs/cgroup/memory/x /sys/fs/cgroup/memory',
    );
    expect(text({ group: [{ path: '/sys/fs/cgroup/x', hierarchy: '' }] })).toContain(
      '--ro-bind /sys/fs/cgroup/x /sys/fs/cgroup --dir',
    );
  });

  it('tells sandboxd where kills for memory are counted', () => {
    expect(text()).toContain('--setenv CORRAL_CGROUP_EVENTS /sys/fs/cgroup/memory/memory.oom_control');
    expect(text()).toContain('--setenv CORRAL_CGROUP_CPU /sys/fs/cgroup/cpuacct/cpuacct.usage');
    expect(text({ cpuTimeFile: null })).not.toContain('CORRAL_CGROUP_CPU');
    expect(text({ memoryKillsFile: null })).not.toContain('CORRAL_CGROUP_EVENTS');
  });

  it("does not let a template override sandboxd's settings", () => {
    expect(text()).toContain('--setenv GREETING hello there');
    expect(text()).toContain('--setenv CORRAL_USERS two-user');
    expect(text()).not.toContain('--setenv CORRAL_USERS root');
  });
});
