-- requires: breaker, line, pool, sandbox
-- Templates and their pools: what is announced and chosen, how many there are, and which are too many.

-- A run says how many sandboxes of a template it will need at once; its earlier word for that template is replaced.
-- Answers until when it counts, or nil when too many runs announce already.
script('announce', function(ask)
  local template, run, lifeMs = ask.template, ask.run, ask.lifeMs
  local name = key.prewarm .. template
  local untilMs = nowMs + lifeMs

  Pool.announcedOf(template) -- lets go of what is over
  if redis.call('HEXISTS', name, run) == 0 and redis.call('HLEN', name) >= Pool.announcersMax then return nil end
  local held = redis.call('SCARD', key.held .. template)
  redis.call('HSET', name, run, string.format('%d %.0f %d', ask.count, untilMs, held))
  if redis.call('PTTL', name) < lifeMs then redis.call('PEXPIRE', name, lifeMs) end
  redis.call('SADD', key.templates, template)
  Sandbox.mayLack(template)
  redis.call('PUBLISH', key.work, template)
  return untilMs
end)

-- A dataset row or a demand made a template: what controllers need to make it, too. Chosen again, it starts its life again.
script('choose', function(ask)
  redis.call('HSET', key.chosen, ask.template, ask.version .. ' ' .. ask.choice)
  redis.call('ZADD', key.choices, nowMs, ask.template)
  redis.call('PEXPIRE', key.chosen, Pool.choicesKeptMs)
  redis.call('PEXPIRE', key.choices, Pool.choicesKeptMs)
end)

-- Templates that rows and demands made: those chosen at `sinceMs` or later, or all. Who asks for all also has the idle ones forgotten.
script('list-chosen', function(ask)
  if not ask.sinceMs then Pool.forgetIdleChoices() end

  local rows = {}
  for _, template in ipairs(redis.call('ZRANGEBYSCORE', key.choices, ask.sinceMs or '-inf', '+inf')) do
    local version, choice = string.match(redis.call('HGET', key.chosen, template) or '', '^(%S+) (.+)$')
    if version then rows[#rows + 1] = { template = template, version = version, choice = choice } end
  end
  return { atMs = nowMs, templates = rows }
end)

-- The pool in numbers, a row for each template asked for.
script('counts', function(ask)
  local runsLookedAt = 200 -- of one template's ring; with more, the oldest of the next ones

  -- Whoever stands at the head has a place before all times, and waits since it first came.
  local function oldestWaitMs(template)
    local oldest = nowMs
    for _, run in ipairs(redis.call('ZRANGE', key.turns .. template, 0, runsLookedAt - 1)) do
      local place = tonumber(redis.call('ZRANGE', Line.lineKey(template, run), 0, 0, 'WITHSCORES')[2] or nowMs)
      oldest = math.min(oldest, place < 0 and place + Line.headStart or place)
    end
    return nowMs - oldest
  end

  local rows = {}
  for index, template in ipairs(ask.templates) do
    local code, message, atMs = unpack(redis.call('HMGET', key.breaker .. template, 'code', 'message', 'atMs'))
    local ready, launching = redis.call('ZCARD', key.ready .. template), redis.call('SCARD', key.starting .. template)
    local held = redis.call('SCARD', key.held .. template)
    Sandbox.stock(template, ready + launching + held)
    rows[index] = {
      template = template,
      ready = ready,
      launching = launching,
      held = held,
      waiting = Line.countGrantable(template),
      oldestWaitMs = oldestWaitMs(template),
      announced = Pool.announcedOf(template),
      breaker = Breaker.breakerState(template),
      lastFailure = code and { code = code, message = message or '', atMs = tonumber(atMs) } or nil,
    }
  end
  return rows
end)

-- Templates that rollouts wait for, sandboxes exist of or starts have failed of; the others are forgotten here.
script('known-templates', function()
  local known = {}
  for _, template in ipairs(redis.call('SMEMBERS', key.templates)) do
    local members = redis.call('ZCARD', key.ready .. template) + redis.call('SCARD', key.starting .. template)
      + redis.call('SCARD', key.held .. template) + Line.countGrantable(template) + Pool.announcedOf(template)
      + redis.call('EXISTS', key.breaker .. template)
    if members > 0 then
      known[#known + 1] = template
    else
      redis.call('SREM', key.templates, template)
      redis.call('SREM', key.lacking, template)
      redis.call('DEL', key.turns .. template)
    end
  end
  return known
end)

-- Unclaimed sandboxes that are too old, or more than are to be ready, go, the oldest first.
script('retire', function(ask)
  local template = ask.template
  local portion = 100
  local ready = key.ready .. template
  local surplus = redis.call('ZCARD', ready) - math.max(ask.keepReady, Pool.announcedOf(template))
  local retired = 0
  local oldest = redis.call('ZRANGE', ready, 0, portion - 1, 'WITHSCORES')
  for index = 1, #oldest, 2 do
    if retired >= surplus and nowMs - oldest[index + 1] < ask.maxAgeMs then break end
    Sandbox.drain(oldest[index])
    retired = retired + 1
  end
  return retired
end)
