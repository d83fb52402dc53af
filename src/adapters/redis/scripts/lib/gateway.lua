-- requires: ending, outage, record, rollout, verdict
-- Gateways among each other, for clients that cannot tell a lost request from what the policy did (those of E2B).
-- A gateway is there while its own channel has a subscriber: the kernel ends that connection with its process, however soon another
-- gateway starts, and not because a process or its machine stands still.

local function isThere(gateway)
  return redis.call('PUBSUB', 'NUMSUB', key.gateway .. gateway)[2] > 0
end

-- A gateway that listens says so every second, until it leaves: from then on load balancers send it nothing new.
-- `leavingMs`: for how long it has been leaving; nil: it listens.
local function listen(gateway, leavingMs)
  redis.call('HDEL', key.gatewaysSilent, gateway)
  local state = leavingMs and 'leaving ' .. nowMs .. ' ' .. math.floor(nowMs - leavingMs) or 'listening ' .. nowMs
  return redis.call('HSET', key.gateways, gateway, state)
end

-- When a gateway last said that it listens or leaves; nil: it has not begun to listen.
local function spokeAtMs(state)
  return tonumber(string.match(state, '^l%l+ing (%d+)'))
end

local function hasSpoken(state)
  local atMs = spokeAtMs(state)
  return atMs and nowMs - atMs < timing.gatewayReturnMs
end

-- When a gateway began to leave; nil: it does not leave.
local function leftAtMs(state)
  return tonumber(string.match(state, '^leaving %d+ (%d+)$'))
end

-- Since when a gateway decides how it begins; nil: it does not decide.
local function decidingSinceMs(state)
  return tonumber(string.match(state, '^deciding (%d+)$'))
end

local function isLeaving(state)
  return string.find(state, '^leaving ') ~= nil
end

local function isListening(gateway, state)
  return hasSpoken(state) and not isLeaving(state) and isThere(gateway)
end

-- Each gateway and its state. `forgotten`: a Redis that lost its data still has the connection of that gateway.
local function states()
  local states = Rollout.fieldsOf(key.gateways)
  for _, channel in ipairs(redis.call('PUBSUB', 'CHANNELS', key.gateway .. '*')) do
    local gateway = string.sub(channel, #key.gateway + 1)
    states[gateway] = states[gateway] or 'forgotten'
  end
  return states
end

-- Whether a gateway of the release before this one has reported within seconds: it has no channel.
local function isOlderHeard()
  for _, process in ipairs(redis.call('ZRANGEBYSCORE', key.processesHeard, nowMs - Outage.inTouchMs, '+inf')) do
    local word = cjson.decode(redis.call('HGET', key.processes, process) or '{}')
    if word.kind == 'gateway' and word.state ~= 'left' and not word.isListed then return true end
  end
  return false
end

-- `there`; `silent`: it may connect again, or only its subscription is late; `gone`: it had the time to do so.
local function whereIs(gateway, state)
  if isThere(gateway) then
    redis.call('HDEL', key.gatewaysSilent, gateway)
    return 'there'
  end
  redis.call('HSETNX', key.gatewaysSilent, gateway, nowMs)
  local sinceMs = tonumber(redis.call('HGET', key.gatewaysSilent, gateway))
  return (hasSpoken(state) or nowMs - sinceMs < timing.gatewayReturnMs) and 'silent' or 'gone'
end

local function forget(gateway)
  redis.call('HDEL', key.gateways, gateway)
  redis.call('HDEL', key.gatewaysSilent, gateway)
  redis.call('DEL', key.inHand .. gateway)
end

-- Discards a rollout of an E2B client that may have lost a request. A rollout without a call has nothing to lose: its client has no
-- sandbox yet, because opening one runs the first call.
local function loseRequest(id, evidence)
  local face, dispatched = Rollout.read(id, 'face', 'dispatched')
  if face ~= 'e2b' or not dispatched then return nil end
  if not Ending.lose(id, 'request_lost', evidence) then return nil end
  return Record.read(id)
end

-- Discards what a gateway that is gone had in hand, a portion at once. Returns what was discarded here.
local function bury(gateway)
  local atOnce, lost = 200, {}
  local evidence = cjson.encode({ gateway = gateway, reason = 'gateway_died' })
  for _, id in ipairs(redis.call('SPOP', key.inHand .. gateway, atOnce)) do lost[#lost + 1] = loseRequest(id, evidence) end
  if redis.call('EXISTS', key.inHand .. gateway) == 0 then forget(gateway) end
  return lost
end

-- Whether a request for this rollout may have been lost, so that it must be discarded before anything else happens to it: another
-- gateway that has it in hand is not there or does not speak, or no gateway knows yet whether it is the only one.
local function isDoubtful(id, own)
  local isUndecided, hasListener = false, false
  for gateway, state in pairs(Rollout.fieldsOf(key.gateways)) do
    local isAbsent = not isThere(gateway)
    if isListening(gateway, state) then
      hasListener = true
    elseif not isAbsent and not spokeAtMs(state) then
      isUndecided = true
    end
    local mayBeLost = gateway ~= own and (isAbsent or not hasSpoken(state))
    if mayBeLost and redis.call('SISMEMBER', key.inHand .. gateway, id) == 1 then return true end
  end
  return isUndecided and not hasListener
end

-- Whether the rollout of an E2B client may not be ended yet: an end keeps the verdict as it is, so a lost request could not discard it later.
-- A rollout without a call, and one that is decided, have nothing to lose.
local function delaysEnd(id)
  local face, dispatched = Rollout.read(id, 'face', 'dispatched')
  if face ~= 'e2b' or not dispatched then return false end
  local verdict = Verdict.wordAt(id)
  return verdict ~= 'scored' and verdict ~= 'discarded' and isDoubtful(id)
end

local function stillDoubtful()
  return redis.error_reply('RECOVERING a request for this rollout may have been lost with its gateway')
end

return {
  isThere = isThere,
  listen = listen,
  leftAtMs = leftAtMs,
  decidingSinceMs = decidingSinceMs,
  isListening = isListening,
  isLeaving = isLeaving,
  states = states,
  isOlderHeard = isOlderHeard,
  whereIs = whereIs,
  forget = forget,
  loseRequest = loseRequest,
  bury = bury,
  isDoubtful = isDoubtful,
  delaysEnd = delaysEnd,
  stillDoubtful = stillDoubtful,
}
