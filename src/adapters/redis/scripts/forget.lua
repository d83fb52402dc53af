-- The provider no longer has the sandbox. One that a rollout still holds stays: its loss goes through the one door first.
local sandbox = ARGV[2]
failStart(sandbox, 'start_failed', 'the provider lost the sandbox while it was starting')
local template, phase, owner, ticket =
  unpack(redis.call('HMGET', key.sandbox .. sandbox, 'template', 'phase', 'owner', 'ticket'))
if not template or (phase == 'ready' and owner) then return 0 end
spend(sandbox)
redis.call('ZREM', key.ready .. template, sandbox)
redis.call('ZREM', key.draining, sandbox)
redis.call('SREM', key.sandboxes, sandbox)
redis.call('DEL', key.sandbox .. sandbox)
moved(sandbox)
return 1
