-- requires: ending, record, rollout, verdict
-- Gateways among each other, for clients that cannot tell a lost request from what the policy did (those of E2B).
-- A gateway is there while its own channel has a subscriber: the kernel ends that connection with its process, however soon another
-- gateway starts, and not because a process or its machine stands still.

local function isThere(gateway)
  return redis.call('PUBSUB', 'NUMSUB', key.gateway .. gateway)[2] > 0
end

-- What is known of a gateway. `decidesSinceMs`: it decides how it begins; `heardMs`: when it last reported that it listens or leaves; `leftMs`:
-- when it began to leave: from then on load balancers send it nothing new; `silentSinceMs`: it has no connection. Without any of the first
-- two, it discards what was opened before it, or Redis has forgotten it.
local fields = { 'decidesSinceMs', 'heardMs', 'leftMs', 'silentSinceMs' }

local function read(gateway)
  local has = {}
  for place, value in ipairs(redis.call('HMGET', key.gatewayState .. gateway, unpack(fields))) do
    has[fields[place]] = tonumber(value or nil)
  end
  return has
end

local function write(gateway, has)
  redis.call('DEL', key.gatewayState .. gateway)
  for field, value in pairs(has) do redis.call('HSET', key.gatewayState .. gateway, field, value) end
  return redis.call('SADD', key.gateways, gateway)
end

local function decide(gateway, sinceMs)
  return write(gateway, { decidesSinceMs = sinceMs })
end

local function sweep(gateway)
  return write(gateway, {})
end

-- `leavingMs`: for how long it has been leaving; nil: it listens. Returns 1 if nothing was known of it.
local function listen(gateway, leavingMs)
  return write(gateway, { heardMs = nowMs, leftMs = leavingMs and math.floor(nowMs - leavingMs) })
end

local function hasSpoken(has)
  return has.heardMs and nowMs - has.heardMs < timing.gatewayReturnMs
end

local function isListening(gateway, has)
  return hasSpoken(has) and not has.leftMs and isThere(gateway)
end

local function isKnown(gateway)
  return redis.call('SISMEMBER', key.gateways, gateway) == 1
end

local function all()
  local states = {}
  for _, gateway in ipairs(redis.call('SMEMBERS', key.gateways)) do states[gateway] = read(gateway) end
  return states
end

-- Also those of which a Redis that lost its data has only the connection.
local function allConnected()
  local states = all()
  for _, channel in ipairs(redis.call('PUBSUB', 'CHANNELS', key.gateway .. '*')) do
    local gateway = string.sub(channel, #key.gateway + 1)
    states[gateway] = states[gateway] or {}
  end
  return states
end

-- `there`; `silent`: it may connect again, or only its subscription is late; `gone`: it had the time to do so.
local function whereIs(gateway, has)
  local name = key.gatewayState .. gateway
  if isThere(gateway) then
    redis.call('HDEL', name, 'silentSinceMs')
    return 'there'
  end
  if redis.call('HSETNX', name, 'silentSinceMs', nowMs) == 1 then has.silentSinceMs = nowMs end
  return (hasSpoken(has) or nowMs - has.silentSinceMs < timing.gatewayReturnMs) and 'silent' or 'gone'
end

local function forget(gateway)
  redis.call('SREM', key.gateways, gateway)
  redis.call('DEL', key.gatewayState .. gateway, key.inHand .. gateway)
end

-- Discards a rollout of an E2B client that may have lost a request. A rollout without a call has nothing to lose: its client has no
-- sandbox yet, because opening one runs the first call.
local function loseRequest(id, evidence, bySandbox)
  local face, dispatched = Rollout.read(id, 'face', 'dispatched')
  if face ~= 'e2b' or not dispatched then return nil end
  if not Ending.lose(id, 'request_lost', evidence, false, nil, bySandbox) then return nil end
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
  for gateway, has in pairs(all()) do
    local isAbsent = not isThere(gateway)
    if isListening(gateway, has) then
      hasListener = true
    elseif not isAbsent and not has.heardMs then
      isUndecided = true
    end
    local mayBeLost = gateway ~= own and (isAbsent or not hasSpoken(has))
    if mayBeLost and redis.call('SISMEMBER', key.inHand .. gateway, id) == 1 then return true end
  end
  return isUndecided and not hasListener
end

-- A process that is killed closes its connections one after another. Its client may ask for the end here before Redis hears of its own, so
-- each gateway that has a request in hand must have spoken since that was first asked; gateways speak every second. What it had
-- sent before it was killed may come a moment later.
local function awaitsWord(id)
  local onTheWayMs = 100
  local askedMs
  for gateway, has in pairs(all()) do
    if redis.call('SISMEMBER', key.inHand .. gateway, id) == 1 then
      if not askedMs then
        redis.call('SET', key.endAsked .. id, nowMs, 'NX', 'PX', 120 * 1000)
        askedMs = tonumber(redis.call('GET', key.endAsked .. id))
      end
      if (has.heardMs or 0) <= askedMs + onTheWayMs then return true end
    end
  end
  if askedMs then redis.call('DEL', key.endAsked .. id) end
  return false
end

-- Whether the rollout of an E2B client may not be graded or ended yet, because a lost request must discard it first: afterward it could not.
local function delaysVerdict(id)
  return Rollout.read(id, 'face') == 'e2b' and (isDoubtful(id) or awaitsWord(id))
end

-- Whether it may not be ended yet: an end keeps the verdict as it is. A rollout without a call, and one that is decided, have nothing to lose.
local function delaysEnd(id)
  if not Rollout.read(id, 'dispatched') then return false end
  local verdict = Verdict.wordAt(id)
  return verdict ~= 'scored' and verdict ~= 'discarded' and delaysVerdict(id)
end

local function stillDoubtful()
  return redis.error_reply('RECOVERING a request for this rollout may have been lost with its gateway')
end

return {
  isThere = isThere,
  read = read,
  decide = decide,
  sweep = sweep,
  listen = listen,
  isListening = isListening,
  isKnown = isKnown,
  all = all,
  allConnected = allConnected,
  whereIs = whereIs,
  forget = forget,
  loseRequest = loseRequest,
  bury = bury,
  isDoubtful = isDoubtful,
  delaysVerdict = delaysVerdict,
  delaysEnd = delaysEnd,
  stillDoubtful = stillDoubtful,
}
