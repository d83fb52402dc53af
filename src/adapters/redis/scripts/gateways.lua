-- requires: gateway, rollout
-- Which gateways there are, and for which rollouts of E2B's clients they have requests in hand.

-- A gateway has opened its port. It subscribes to its channel next.
script('appear-gateway', function(ask)
  Gateway.decide(ask.gateway, nowMs)
end)

-- `joined`: another gateway listens. `alone`: none does, so every client of E2B may have met a closed port;
-- it discards what was opened before `atMs`, and then says that it listens. `unsure`: another may come back, or decides this
-- itself; it must ask again. One that leaves is no other: its port closes, and load balancers know; unless it began to leave
-- after this one had opened its port (`openMs` ago), because then a port was always open. One that is there and silent stands
-- still, or its machine is lost and its connection lasts longer.
script('begin-gateway', function(ask)
  local decidesSinceMs = Gateway.read(ask.gateway).decidesSinceMs or nowMs
  -- After an outage, other gateways have not connected yet. An empty fleet has nothing to lose.
  local isEarly = redis.call('ZCARD', key.leases) > 0 and nowMs - decidesSinceMs < timing.gatewayReturnMs
  local hasOther, isUnsure = false, isEarly
  for other, has in pairs(Gateway.allConnected()) do
    local where = other == ask.gateway and 'gone' or Gateway.whereIs(other, has)
    -- Of two that start together, the first by name decides.
    local waitsForThis = where == 'there' and has.decidesSinceMs and other > ask.gateway
    local leftLater = where == 'there' and (has.leftMs or 0) >= nowMs - ask.openMs
    if Gateway.isListening(other, has) or leftLater then
      hasOther = true
    elseif where ~= 'gone' and not waitsForThis and not has.leftMs then
      isUnsure = true
    end
  end
  local kind = hasOther and 'joined' or isUnsure and 'unsure' or 'alone'
  if kind == 'joined' then
    Gateway.listen(ask.gateway)
  elseif kind == 'alone' then
    Gateway.sweep(ask.gateway)
  else
    Gateway.decide(ask.gateway, decidesSinceMs)
  end
  return { kind = kind, atMs = nowMs }
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

-- Says again that a gateway listens, and discards what gateways that are gone had in hand. `inHand`: all that it has in hand itself, if
-- what is stored of that may be wrong. `isForgotten`: nothing of it was stored. `isHeard`: this Redis has the subscription to its channel.
script('keep-gateway', function(ask)
  local isForgotten = Gateway.listen(ask.gateway, ask.leavingMs) == 1
  if ask.inHand then
    redis.call('DEL', key.inHand .. ask.gateway)
    for _, id in ipairs(ask.inHand) do redis.call('SADD', key.inHand .. ask.gateway, id) end
  end
  local lost = {}
  for other, has in pairs(Gateway.all()) do
    if other ~= ask.gateway and Gateway.whereIs(other, has) == 'gone' then
      for _, rollout in ipairs(Gateway.bury(other)) do lost[#lost + 1] = rollout end
    end
  end
  return { isForgotten = isForgotten, isHeard = Gateway.isThere(ask.gateway), lost = lost }
end)

-- A gateway has a request of E2B's in hand. It waits while one before it may have been lost, and while Redis does not know its gateway.
script('enter-request', function(ask)
  if Rollout.read(ask.key, 'face') ~= 'e2b' then return nil end
  if not Gateway.isKnown(ask.gateway) then return Gateway.stillDoubtful() end
  redis.call('SADD', key.inHand .. ask.gateway, ask.key)
  if Gateway.isDoubtful(ask.key, ask.gateway) then return Gateway.stillDoubtful() end
end)

-- It has no request for this rollout in hand any more.
script('leave-request', function(ask)
  redis.call('SREM', key.inHand .. ask.gateway, ask.key)
end)

-- A request was answered with an infrastructure failure, or its client left because of one.
script('lose-request', function(ask)
  return Gateway.loseRequest(ask.key, ask.evidence, ask.bySandbox)
end)

-- A gateway ends in order: it lost nothing that it had.
script('end-gateway', function(ask)
  Gateway.forget(ask.gateway)
end)
