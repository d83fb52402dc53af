-- A sandbox that would not take its rollout is given up. Compare-and-set on the generation, and only before the first
-- dispatch; whoever comes too late, or too often, gets the current state.
local id, generation, reason, evidence = unpack(ARGV, 2)
local state, current, dispatched, tainted, template =
  read(id, 'state', 'generation', 'dispatched', 'taintCode', 'template')

-- What every sandbox of a template is given up for would empty its pool as fast as it fills. Above what one lost machine
-- brings, which has some dozens of sandboxes; who may not swap now asks again.
local swapsMax, withinMs = 60, 60 * 1000

local function mayGiveUp()
  local name = key.swaps .. template
  local sinceMs, swaps = unpack(redis.call('HMGET', name, 'sinceMs', 'swaps'))
  if not sinceMs or nowMs - tonumber(sinceMs) >= withinMs then
    redis.call('HSET', name, 'sinceMs', nowMs, 'swaps', 1)
    redis.call('PEXPIRE', name, 2 * withinMs)
    return true
  end
  if tonumber(swaps) >= swapsMax then return false end
  redis.call('HINCRBY', name, 'swaps', 1)
  return true
end

if not state then return false end
if state == 'claimed' and current == generation and not dispatched and not tainted and mayGiveUp() then
  write(id, 'swapReason', reason, 'swapEvidence', evidence, 'atHead', 1)
  swapToHead(id)
end
return claimReply(id)
