-- requires: ending, outage, record, rollout
-- Gateways among each other, for clients that cannot tell a request that was lost from what the policy did (those of E2B).
-- A gateway is there while its own channel has a subscriber: the kernel ends that connection with its process, however soon another
-- one starts, and not because a process or its machine stands still.

local function channelOf(gateway)
  return key.gateway .. gateway
end

local function isThere(gateway)
  return redis.call('PUBSUB', 'NUMSUB', channelOf(gateway))[2] > 0
end

-- Every channel that has a subscriber: a Redis that has forgotten its gateways still sees them.
local function connected()
  local names = {}
  for _, channel in ipairs(redis.call('PUBSUB', 'CHANNELS', channelOf('*'))) do
    names[#names + 1] = string.sub(channel, #channelOf('') + 1)
  end
  return names
end

-- Whether a gateway of the release before this one has spoken of late: it has no channel.
local function isOlderHeard()
  for _, process in ipairs(redis.call('ZRANGEBYSCORE', key.processesHeard, nowMs - Outage.inTouchMs, '+inf')) do
    local word = cjson.decode(redis.call('HGET', key.processes, process) or '{}')
    if word.kind == 'gateway' and word.state ~= 'left' and not word.isListed then return true end
  end
  return false
end

-- `there`; `silent`: it may connect again; `gone`: it had the time to do so.
local function whereIs(gateway)
  if isThere(gateway) then
    redis.call('HDEL', key.gatewaysSilent, gateway)
    return 'there'
  end
  redis.call('HSETNX', key.gatewaysSilent, gateway, nowMs)
  local sinceMs = tonumber(redis.call('HGET', key.gatewaysSilent, gateway))
  return nowMs - sinceMs < timing.gatewayReturnMs and 'silent' or 'gone'
end

local function forget(gateway)
  redis.call('HDEL', key.gateways, gateway)
  redis.call('HDEL', key.gatewaysSilent, gateway)
  redis.call('DEL', key.gatewayRollouts .. gateway)
end

-- A request is a field of its rollout: its gateway, and a number of that.
local function gatewayIn(request)
  return string.match(request, '^[^/]+')
end

local function enter(id, gateway, request)
  local name, rollouts = key.requests .. id, key.gatewayRollouts .. gateway
  redis.call('HSET', name, gateway .. '/' .. request, nowMs)
  redis.call('PEXPIRE', name, Rollout.keptForReportsMs)
  redis.call('SADD', rollouts, id)
  redis.call('PEXPIRE', rollouts, Rollout.keptForReportsMs)
end

local function hasRequest(id, gateway)
  for _, request in ipairs(redis.call('HKEYS', key.requests .. id)) do
    if gatewayIn(request) == gateway then return true end
  end
  return false
end

local function leave(id, gateway, request)
  redis.call('HDEL', key.requests .. id, gateway .. '/' .. request)
  if not hasRequest(id, gateway) then redis.call('SREM', key.gatewayRollouts .. gateway, id) end
end

-- Discards a rollout of an E2B client that may have lost a request. One without a call has nothing to lose: its client has no sandbox.
local function loseRequest(id, evidence, suspected)
  local face, dispatched = Rollout.read(id, 'face', 'dispatched')
  if face ~= 'e2b' or not dispatched then return nil end
  if not Ending.loseRequest(id, evidence, suspected) then return nil end
  return Record.read(id)
end

-- At most so many of its rollouts at once; nil: it has more. What is returned was discarded here.
local function bury(gateway)
  local atOnce, lost = 200, {}
  for _, id in ipairs(redis.call('SRANDMEMBER', key.gatewayRollouts .. gateway, atOnce)) do
    if hasRequest(id, gateway) then
      lost[#lost + 1] = loseRequest(id, cjson.encode({ gateway = gateway, reason = 'gateway_died' }))
    end
    for _, request in ipairs(redis.call('HKEYS', key.requests .. id)) do
      if gatewayIn(request) == gateway then redis.call('HDEL', key.requests .. id, request) end
    end
    redis.call('SREM', key.gatewayRollouts .. gateway, id)
  end
  return lost, redis.call('SCARD', key.gatewayRollouts .. gateway) == 0
end

-- A gateway that is there does not know yet whether it was the only one, or still discards what was opened before it.
local function isUndecided()
  local all = redis.call('HGETALL', key.gateways)
  for index = 1, #all, 2 do
    if all[index + 1] ~= 'listening' and isThere(all[index]) then return true end
  end
  return false
end

-- Whether a request for this rollout may have been lost, so that it is to be discarded before anything else becomes of it.
local function isDoubtful(id)
  if isUndecided() then return true end
  for _, request in ipairs(redis.call('HKEYS', key.requests .. id)) do
    if not isThere(gatewayIn(request)) then return true end
  end
  return false
end

local function stillDoubtful()
  return redis.error_reply('RECOVERING a request for this rollout may have been lost with its gateway')
end

return {
  connected = connected,
  isOlderHeard = isOlderHeard,
  whereIs = whereIs,
  forget = forget,
  enter = enter,
  leave = leave,
  loseRequest = loseRequest,
  bury = bury,
  isDoubtful = isDoubtful,
  stillDoubtful = stillDoubtful,
}
