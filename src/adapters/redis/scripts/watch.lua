-- requires: breaker, line, pool, rollout
-- The fleet as a whole, for people, and what processes say of themselves.

-- The fleet as a whole, for people. `mostPlaces`: how many places of runs in lines are looked at; `mostRuns` and `mostTemplates`:
-- how many of them are told; `known`: templates whose environments the asker knows. Sandboxes and rollouts are counted by
-- the sizes of their sets and never one by one, so the cost has a bound that the fleet's size is not in.
reading('watch', function(ask)
  local mostPlaces, mostRuns, mostTemplates = ask.mostPlaces, ask.mostRuns, ask.mostTemplates

  local isKnown = {}
  for _, template in ipairs(ask.known) do isKnown[template] = true end

  local templates, isListed, templatesLeftOut = {}, {}, 0
  local function list(template)
    if isListed[template] then return end
    isListed[template] = true
    if #templates < mostTemplates then
      templates[#templates + 1] = template
    else
      templatesLeftOut = templatesLeftOut + 1
    end
  end

  -- The rings of starts name every run and template that somebody waits for, and some that nobody does any more.
  local places = 0
  for _, run in ipairs(redis.call('ZRANGE', key.launchRuns, 0, mostPlaces - 1)) do
    if places >= mostPlaces then break end
    for _, template in ipairs(redis.call('ZRANGE', key.launchTemplates .. run, 0, mostPlaces - places - 1)) do
      places = places + 1
      list(template)
    end
  end

  -- In the order of its ring a template serves the first of each run, then the second of each. Who has been passed over
  -- longest stands first, so what is left out is mostly what came last.
  local line, runsLeftOut, looked = {}, 0, 0
  for _, template in ipairs(templates) do
    local ahead = 0
    local room = mostPlaces - looked
    local ring = room > 0 and redis.call('ZRANGE', key.turns .. template, 0, room - 1) or {}
    looked = looked + #ring
    for _, run in ipairs(ring) do
      local name = Line.lineKey(template, run)
      local first, place = unpack(redis.call('ZRANGE', name, 0, 0, 'WITHSCORES'))
      if first then
        place = tonumber(place)
        if place < 0 then place = place + Line.headStart end
        line[#line + 1] = {
          template = template, waiting = redis.call('ZCARD', name), ahead = ahead, first = first,
          firstWaitsMs = math.max(0, nowMs - place),
        }
        ahead = ahead + 1
      end
    end
    runsLeftOut = runsLeftOut + redis.call('ZCARD', key.turns .. template) - #ring
  end
  table.sort(line, function(one, other) return one.firstWaitsMs > other.firstWaitsMs end)
  runsLeftOut = runsLeftOut + math.max(0, #line - mostRuns)
  local firstOf = {}
  for _, row in ipairs(line) do firstOf[row.template] = firstOf[row.template] or row.first end
  for index = #line, mostRuns + 1, -1 do line[index] = nil end

  for _, template in ipairs(redis.call('SMEMBERS', key.templates)) do list(template) end
  for _, template in ipairs(ask.known) do list(template) end

  -- Of what environment a template is that the asker does not know: what somebody who waits for it or holds one asked for.
  local function environmentOf(template)
    local id = firstOf[template]
    if not id then
      local sandbox = redis.call('SRANDMEMBER', key.held .. template)
      id = sandbox and redis.call('HGET', key.sandbox .. sandbox, 'owner')
    end
    return id and Rollout.read(id, 'environment')
  end

  -- Of a template that a row or a demand made: for which version, and whether graders have it.
  local function chosenOf(template)
    local version, choice = string.match(redis.call('HGET', key.chosen, template) or '', '^(%S+) (.+)$')
    return version, choice and string.find(choice, '"role":"grader"', 1, true) ~= nil
  end

  local rows = {}
  for index, template in ipairs(templates) do
    local chosenFor, isGraders
    if not isKnown[template] then chosenFor, isGraders = chosenOf(template) end
    local failures, probe, certain, code, atMs =
      unpack(redis.call('HMGET', key.breaker .. template, 'failures', 'probe', 'certain', 'code', 'atMs'))
    local grantable = key.grantable .. template
    rows[index] = {
      template = template,
      ready = redis.call('ZCARD', key.ready .. template),
      starting = redis.call('SCARD', key.starting .. template),
      held = redis.call('SCARD', key.held .. template),
      waiting = redis.call('ZCOUNT', grantable, nowMs - timing.grantableMs, '+inf'),
      announced = (Pool.readAnnounced(template)),
      breaker = Breaker.breakerStateOf(template, failures, probe, certain),
      lastFailure = code and { code = code, agoMs = atMs and nowMs - atMs or 0 } or nil,
      environment = not isKnown[template] and environmentOf(template) or nil,
      chosenFor = chosenFor,
      isGraders = isGraders or nil,
    }
  end

  local processes = {}
  local heard = redis.call('ZRANGE', key.processesHeard, 0, -1, 'WITHSCORES')
  for index = 1, #heard, 2 do
    local word = redis.call('HGET', key.processes, heard[index])
    if word then processes[#processes + 1] = { silentMs = nowMs - heard[index + 1], word = word } end
  end

  return {
    rollouts = {
      open = redis.call('ZCARD', key.leases),
      inLine = redis.call('ZCARD', key.waiters),
      callsRunning = redis.call('ZCARD', key.callDeadlines),
    },
    sandboxes = {
      all = redis.call('SCARD', key.sandboxes),
      starting = redis.call('ZCARD', key.starts),
      leaving = redis.call('ZCARD', key.draining),
    },
    line = line,
    runsLeftOut = runsLeftOut,
    templates = rows,
    templatesLeftOut = templatesLeftOut,
    processes = processes,
  }
end)

-- Keeps `word` of `who`, and beside it when it was heard. What nobody said for `keptMs` is forgotten, and of more than `most` those silent longest.
local function keepWord(words, heard, who, word, keptMs, most)
  redis.call('HSET', words, who, word)
  redis.call('ZADD', heard, nowMs, who)
  local gone = redis.call('ZRANGEBYSCORE', heard, '-inf', '(' .. (nowMs - keptMs))
  for _, one in ipairs(redis.call('ZRANGE', heard, 0, -most - 1)) do gone[#gone + 1] = one end
  if #gone > 0 then
    redis.call('ZREM', heard, unpack(gone))
    redis.call('HDEL', words, unpack(gone))
  end
  redis.call('PEXPIRE', words, keptMs)
  redis.call('PEXPIRE', heard, keptMs)
end

-- Stores what a process reports of itself, or where a log's events are served. Above `most`, which only a start that fails repeatedly
-- reaches, the words of the longest silent are removed.
script('keep-word', function(ask)
  if ask.log then keepWord(key.eventLogs, key.eventLogsHeard, ask.log, ask.word, ask.keptMs, ask.most) end
  if ask.process then keepWord(key.processes, key.processesHeard, ask.process, ask.word, ask.keptMs, ask.most) end
end)

local function haveSame(timings, others)
  for name, ms in pairs(timings) do
    if others[name] ~= ms then return false end
  end
  for name, ms in pairs(others) do
    if timings[name] ~= ms then return false end
  end
  return true
end

local function isReplacedBy(timings, word)
  return word.replacedTimings ~= nil and haveSame(word.replacedTimings, timings)
end

-- Whether two processes may serve together: their timings are the same, or one of them replaces the timings of the other.
local function fit(word, other)
  return haveSame(word.timings, other.timings)
    or isReplacedBy(other.timings, word)
    or isReplacedBy(word.timings, other)
end

-- A process that starts is noted with its timings, unless a running process of its release has agreed on others. A process that has been
-- silent for `silentMs` has ended. No process becomes ready if a process of a release before the previous one runs, or ran in the last
-- day: this release does not read what that one stored.
script('agree-timings', function(ask)
  local word = cjson.decode(ask.word)
  if redis.call('EXISTS', key.olderHeard) == 1 then return { isTooOld = true } end
  for _, process in ipairs(redis.call('ZRANGEBYSCORE', key.processesHeard, nowMs - ask.silentMs, '+inf')) do
    local other = cjson.decode(redis.call('HGET', key.processes, process) or '{}')
    local isRunning = process ~= ask.process and other.agreed and other.state ~= 'left'
    if process ~= ask.process and other.state ~= 'left' and not other.knowsDemands then return { isTooOld = true } end
    if isRunning and other.version == word.version and not fit(word, other) then
      return { others = other.timings }
    end
  end
  keepWord(key.processes, key.processesHeard, ask.process, ask.word, ask.keptMs, ask.most)
  return {}
end)

-- Every log that somebody told of, the one heard last first: its name, for how long nobody has, and what was said.
script('list-event-logs', function()
  local logs = {}
  local heard = redis.call('ZREVRANGE', key.eventLogsHeard, 0, -1, 'WITHSCORES')
  for at = 1, #heard, 2 do
    local word = redis.call('HGET', key.eventLogs, heard[at])
    if word then logs[#logs + 1] = { log = heard[at], silentMs = nowMs - heard[at + 1], word = word } end
  end
  return logs
end)
