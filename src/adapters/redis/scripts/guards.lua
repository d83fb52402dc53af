-- requires: rollout
-- Guards of judges, by run and judge. A grade takes a ticket when its judge has answered, and `every` tickets in a row are a block:
-- none of them is answered before the canaries of its block were scored rightly.

local keptMs = 24 * 3600 * 1000
-- After so long without a grade the next one begins a wave, and so a block.
local waveEndsMs = 5 * 60 * 1000
-- Checks that are remembered: a grade takes less time than that many blocks.
local mostBlocks = 1000

local function blockOf(ticket, every) return math.floor((ticket - 1) / every) end

-- The last ticket of the block in which this one is.
local function endOfBlock(ticket, every) return ticket == 0 and 0 or (blockOf(ticket, every) + 1) * every end

-- `guard`, here and below: the key of one judge in one run.
local function guardOf(rollout, name) return key.judgeGuard .. Rollout.runOf(rollout) .. '/' .. name end

local function takeTicket(guard, every)
  local tickets, lastMs = unpack(redis.call('HMGET', guard, 'tickets', 'lastMs'))
  tickets = tonumber(tickets or 0)
  if nowMs - tonumber(lastMs or 0) > waveEndsMs then tickets = endOfBlock(tickets, every) end
  redis.call('HSET', guard, 'tickets', tickets + 1, 'lastMs', nowMs)
  redis.call('PEXPIRE', guard, keptMs)
  return tickets + 1
end

-- One that Redis has forgotten is taken again.
local function isKnown(guard, ticket)
  return ticket and ticket <= tonumber(redis.call('HGET', guard, 'tickets') or 0)
end

local function takeLease(guard, block, by, leaseMs)
  local lease = redis.call('HGET', guard, 'lease:' .. block)
  local untilMs, holder = string.match(lease or '', '^(%S+) (.*)$')
  if holder and holder ~= by and tonumber(untilMs) > nowMs then return false end
  redis.call('HSET', guard, 'lease:' .. block, (nowMs + leaseMs) .. ' ' .. by)
  return true
end

script('ask-guard', function(ask)
  local guard = guardOf(ask.key, ask.name)
  local ticket = isKnown(guard, ask.ticket) and ask.ticket or takeTicket(guard, ask.every)
  local suspectTo, evidence = unpack(redis.call('HMGET', guard, 'suspectTo', 'evidence'))
  if ticket <= tonumber(suspectTo or 0) then return { kind = 'suspect', ticket = ticket, evidence = evidence } end
  local block = blockOf(ticket, ask.every)
  if redis.call('HGET', guard, 'passed:' .. block) then return { kind = 'pass', ticket = ticket } end
  return { kind = takeLease(guard, block, ask.by, ask.leaseMs) and 'check' or 'wait', ticket = ticket }
end)

local function pass(guard, block)
  redis.call('HSET', guard, 'passed:' .. block, 1, 'rightAtMs', nowMs)
  redis.call('HDEL', guard, 'passed:' .. block - mostBlocks)
end

-- Canaries hold nothing of a policy, so what they say of the judge holds for every grade that is not answered yet. The next ticket
-- begins a block: a judge that was repaired is believed again. Grades that were answered since it was last right keep their scores.
local function suspect(guard, ticket, every, evidence)
  local tickets, rightAtMs = unpack(redis.call('HMGET', guard, 'tickets', 'rightAtMs'))
  local last = endOfBlock(math.max(ticket, tonumber(tickets or 0)), every)
  local seen = cjson.decode(evidence)
  seen.last_right_at_ms = tonumber(rightAtMs or 0)
  redis.call('HSET', guard, 'tickets', last, 'suspectTo', last, 'evidence', cjson.encode(seen))
end

script('conclude-guard', function(ask)
  local guard = guardOf(ask.key, ask.name)
  local block = blockOf(ask.ticket, ask.every)
  redis.call('HDEL', guard, 'lease:' .. block)
  if ask.said == 'right' then pass(guard, block) end
  if ask.said == 'wrong' then suspect(guard, ask.ticket, ask.every, ask.evidence) end
  redis.call('PEXPIRE', guard, keptMs)
end)
