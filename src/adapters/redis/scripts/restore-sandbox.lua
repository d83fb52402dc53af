-- unguarded: it writes fleet state back before this Redis is the fleet's.
-- A sandbox of no known rollout: `ready` joins the warm pool, `unsure` is kept from everybody, `gone` is forgotten.
-- `rollout`: whose an unsure one is, where somebody knows.
-- Once the fleet is adopted only unsure ones are touched: a controller that is late decides nothing.
local sandbox, template, verdict, boot, address, rollout = unpack(ARGV, 2)
local box = key.sandbox .. sandbox
local phase, owner, unsureOwner = unpack(redis.call('HMGET', box, 'phase', 'owner', 'unsureOwner'))
local adopted = redis.call('GET', key.redis) == ARGV[1]
local isSpare = phase == 'ready' and not owner

local function list()
  redis.call('SADD', key.sandboxes, sandbox)
  redis.call('SADD', key.templates, template)
  redis.call('HSET', box, 'template', template)
end

-- By its own word nobody has ever moved in, also not who was taken to live there.
local function joinPool()
  list()
  leaveStart(sandbox, template)
  redis.call('HDEL', box, 'unsureOwner')
  if unsureOwner then redis.call('HDEL', key.unsure, unsureOwner) end
  redis.call('ZREM', key.nameless, sandbox)
  redis.call('HSET', box, 'boot', boot, 'address', address, 'readyAtMs', nowMs)
  enterPhase(sandbox, 'ready')
  redis.call('ZADD', key.ready .. template, nowMs, sandbox)
  if adopted then serveLine(template) end
end

-- A start that does not answer may have been done, and the sandbox granted, in the second that a copy has missed. Its
-- time as a start runs on: one that never answers must end.
local function becomeUnsure()
  list()
  mayLack(template)
  redis.call('ZREM', key.ready .. template, sandbox)
  enterPhase(sandbox, 'unsure')
  local whose = rollout ~= '' and rollout or unsureOwner
  if not whose then return redis.call('ZADD', key.nameless, nowMs + namelessHoldMs, sandbox) end
  redis.call('ZREM', key.nameless, sandbox)
  redis.call('HSET', box, 'unsureOwner', whose)
  redis.call('HSET', key.unsure, whose, sandbox)
  if (read(whose, 'state')) == 'waiting' then leaveLine(whose, template) end
end

-- Whose record says that nothing has run there yet: a copy may have missed that something was sent, and the sandbox cannot
-- be asked. Until it answers, its rollout counts as begun: nobody moves it elsewhere as if nothing had run, and its loss is one.
local function assumeBegun()
  if (read(owner, 'state')) ~= 'claimed' then return end
  write(owner, 'dispatched', 1, 'state', 'active', 'activeAtMs', nowMs)
  redis.call('ZREM', key.grants, owner)
end

local function forget()
  spend(sandbox)
  local itsTemplate = redis.call('HGET', box, 'template') or template
  leaveStart(sandbox, itsTemplate)
  mayLack(itsTemplate)
  redis.call('ZREM', key.ready .. itsTemplate, sandbox)
  redis.call('SREM', key.sandboxes, sandbox)
  redis.call('ZREM', key.nameless, sandbox)
  redis.call('DEL', box)
  moved(sandbox)
  if not unsureOwner then return end
  redis.call('HSET', key.unsure, unsureOwner, 'gone')
  -- To the copy it stood in line: whatever it had run is gone with its sandbox.
  if (read(unsureOwner, 'state')) == 'waiting' then taint(unsureOwner, 'sandbox_lost', 'deleted', '{}', false) end
end

if adopted and phase ~= 'unsure' then return 0 end
if verdict == 'ready' and (not phase or phase == 'unsure') then
  joinPool()
elseif verdict == 'unsure' and (not phase or phase == 'starting' or isSpare or (phase == 'unsure' and not adopted)) then
  becomeUnsure()
elseif verdict == 'unsure' and phase == 'ready' and not adopted then
  assumeBegun()
elseif verdict == 'gone' and (isSpare or phase == 'unsure') then
  forget()
end
return 1
