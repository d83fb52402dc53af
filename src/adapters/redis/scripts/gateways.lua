-- requires: gateway, rollout
-- Which gateways there are, and which E2B requests they have in hand.

-- A gateway that starts is subscribed to its channel, and opens its door next.
script('appear-gateway', function(ask)
  redis.call('HSET', key.gateways, ask.gateway, 'deciding')
end)

-- It has opened its door. `joined`: another one listens. `alone`: none does, so that every client of E2B
-- may have met a closed door; it discards what was opened before `atMs` and then says that it listens. `unsure`: one may still
-- come back, or decides this itself; it is to ask again. `sinceMs`: when it first asked.
script('begin-gateway', function(ask)
  local gateway, sinceMs = ask.gateway, ask.sinceMs or nowMs
  local isUnsure = false
  local all = redis.call('HGETALL', key.gateways)
  local known = { [gateway] = true }
  for index = 1, #all, 2 do
    local other, state = all[index], all[index + 1]
    if other ~= gateway then
      known[other] = true
      local where = Gateway.whereIs(other)
      if where == 'there' and state == 'listening' then
        redis.call('HSET', key.gateways, gateway, 'listening')
        return { kind = 'joined', atMs = nowMs }
      end
      -- Of two that start together, one decides.
      local waitsForMe = state == 'deciding' and other > gateway
      if where == 'silent' or (where == 'there' and not waitsForMe) then isUnsure = true end
    end
  end
  if Gateway.isOlderHeard() then
    redis.call('HSET', key.gateways, gateway, 'listening')
    return { kind = 'joined', atMs = nowMs }
  end
  -- Redis has forgotten them, and they say again that they listen.
  for _, other in ipairs(Gateway.connected()) do
    if not known[other] and nowMs - sinceMs < timing.gatewayReturnMs then isUnsure = true end
  end
  redis.call('HSET', key.gateways, gateway, isUnsure and 'deciding' or 'sweeping')
  return { kind = isUnsure and 'unsure' or 'alone', atMs = nowMs, sinceMs = sinceMs }
end)

-- Discards a portion of the E2B rollouts that were opened before this moment; returns where the next one begins, or nothing.
script('sweep-requests', function(ask)
  local cursor, walked = unpack(redis.call('ZSCAN', key.leases, ask.cursor, 'COUNT', 200))
  local lost = {}
  for index = 1, #walked, 2 do
    local id = walked[index]
    local placedAtMs = tonumber(Rollout.read(id, 'placedAtMs') or math.huge)
    if placedAtMs < ask.beforeMs then lost[#lost + 1] = Gateway.loseRequest(id, ask.evidence) end
  end
  return { cursor = cursor ~= '0' and cursor or nil, lost = lost }
end)

-- Says again that a gateway listens, and discards what the requests of those that are gone were for.
script('keep-gateway', function(ask)
  redis.call('HSET', key.gateways, ask.gateway, 'listening')
  local lost = {}
  for _, other in ipairs(redis.call('HKEYS', key.gateways)) do
    if other ~= ask.gateway and Gateway.whereIs(other) == 'gone' then
      local discarded, isDone = Gateway.bury(other)
      for _, rollout in ipairs(discarded) do lost[#lost + 1] = rollout end
      if isDone then Gateway.forget(other) end
    end
  end
  return lost
end)

-- A gateway has a request of E2B's in hand. Held as long as one before it may have been lost.
script('enter-request', function(ask)
  local id = ask.key
  if Rollout.read(id, 'face') ~= 'e2b' then return nil end
  if Gateway.isDoubtful(id) then return Gateway.stillDoubtful() end
  Gateway.enter(id, ask.gateway, ask.request)
end)

script('leave-request', function(ask)
  Gateway.leave(ask.key, ask.gateway, ask.request)
end)

-- A request was answered with a failure of the infrastructure, or its client left because of one.
script('lose-request', function(ask)
  return Gateway.loseRequest(ask.key, ask.evidence, ask.suspected)
end)

-- A gateway ends in order: nothing that it had was lost.
script('end-gateway', function(ask)
  for _, id in ipairs(redis.call('SMEMBERS', key.gatewayRollouts .. ask.gateway)) do
    for _, request in ipairs(redis.call('HKEYS', key.requests .. id)) do
      if string.match(request, '^[^/]+') == ask.gateway then redis.call('HDEL', key.requests .. id, request) end
    end
  end
  Gateway.forget(ask.gateway)
end)
