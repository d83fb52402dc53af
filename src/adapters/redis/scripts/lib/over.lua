-- requires: call, rollout
-- What is left of a rollout that is over. Its hash shrinks to a line, in the script that closes it: what it takes to answer
-- every later request. All else is kept next to it for as long as a request may be repeated, and then the event log alone has it.

local aDayMs = 24 * 3600 * 1000 -- no rollout lives longer

-- `fieldsOver` of the table of fields: an earlier version reads those of a record that are never empty. Each is short,
-- or it would cost its hash the packing that Redis has for short ones.
local packedBytes = 64 -- the longest value that Redis packs

-- A call that is over is known by four bytes of its id's hash, and by one letter for what a repeat is told: how it ended, and
-- whether it had been admitted. Two of 4,000 calls are alike once in 500 rollouts of as many, and both are over.
local endings = { 'answered', 'broken', 'cancelled', 'failed' }
local admissions = { 'yes', 'no', 'unknown' }
local letters = {
  answered = { yes = 'a', no = 'b', unknown = 'c' },
  broken = { yes = 'd', no = 'e', unknown = 'f' },
  cancelled = { yes = 'g', no = 'h', unknown = 'i' },
  failed = { yes = 'j', no = 'k', unknown = 'l' },
}
local digestBytes, mostTogether = 5, 12

local function hashOf(call)
  return struct.pack('>I4', tonumber(string.sub(redis.sha1hex(call), 1, 8), 16))
end

local function endingOf(summary)
  if summary[12] ~= 0 then return 'answered' end
  if summary[7] == 'sandbox_broken' then return 'broken' end
  if summary[6] == 'cancelled' or not Call.isSettled(summary) then return 'cancelled' end
  return summary[6] == 'infrastructure_failure' and 'failed' or 'answered'
end

local function digestOf(call, summary)
  return hashOf(call) .. letters[endingOf(summary)][summary[5]]
end

local function fieldOf(index)
  return 'called' .. index
end

-- The digests of all calls, in fields that are packed.
local function digestFields(id)
  local flat, digests, fields = redis.call('HGETALL', key.calls .. id), {}, {}
  for index = 1, #flat, 2 do digests[#digests + 1] = digestOf(flat[index], cjson.decode(flat[index + 1])) end
  for first = 1, #digests, mostTogether do
    fields[#fields + 1] = fieldOf((first - 1) / mostTogether + 1)
    fields[#fields + 1] = table.concat(digests, '', first, math.min(first + mostTogether - 1, #digests))
  end
  return fields
end

-- Tells `each` the digests by portions, until it answers something.
local function eachPortion(id, each)
  local index = 1
  while true do
    local portion = redis.call('HGET', key.rollout .. id, fieldOf(index))
    local found = each(portion, index)
    if found or not portion then return found end
    index = index + 1
  end
end

-- As a summary of lib/call.lua, with what a line has of it; nil for a call that never was.
local function readDigest(id, call)
  local hash = hashOf(call)
  local letter = eachPortion(id, function(portion)
    for at = 1, portion and #portion or 0, digestBytes do
      if string.sub(portion, at, at + 3) == hash then return string.byte(portion, at + 4) - 97 end
    end
  end)
  if not letter then return nil end
  local ending, admitted = endings[math.floor(letter / 3) + 1], admissions[letter % 3 + 1]
  local outcome = ending == 'failed' and 'infrastructure_failure' or ending == 'cancelled' and ending or 'completed'
  local code = ending == 'broken' and 'sandbox_broken' or cjson.null
  return { '', '', 0, 0, admitted, outcome, code, cjson.null, cjson.null, 0, 0, 0 }
end

-- A call that was settled after its rollout's end.
local function addDigest(id, call, summary)
  local digest = digestOf(call, summary)
  eachPortion(id, function(portion, index)
    if portion and #portion >= mostTogether * digestBytes then return false end
    return redis.call('HSET', key.rollout .. id, fieldOf(index), (portion or '') .. digest) + 1
  end)
end

-- A call as anybody knows of it: of one in a rollout that is over, its digest outlives the rest. An empty digest of its
-- arguments says that they are not known any more. A call that recovery found in its sandbox has no answer here until somebody asks for
-- it. If the rollout ends before that, the call counts as cancelled, as its digest says.
local function recall(id, call, state)
  local summary = Call.read(id, call)
  if Rollout.isOpen(state) or (summary and Call.isSettled(summary)) then return summary end
  return readDigest(id, call)
end

local function keepForRepeats(id)
  for _, name in ipairs({ key.details, key.calls }) do
    redis.call('PEXPIRE', name .. id, timing.keptForRepeatsMs)
  end
end

local function add(list, name, value)
  if not value then return end
  list[#list + 1] = name
  list[#list + 1] = value
end

-- A platform may go on with a rollout that is over for as long as it might have lived, and repeat its last request then.
local function shrink(id, isGradedLate)
  local line, values = digestFields(id), redis.call('HMGET', key.rollout .. id, unpack(fieldsOver))
  for place, field in ipairs(fieldsOver) do add(line, field, values[place]) end
  for _, field in ipairs(shortFieldsOver) do
    local value = Rollout.read(id, field)
    if value and #value <= packedBytes then add(line, field, value) end
  end
  local hardLifeMs = Rollout.read(id, 'hardLifeMs')
  redis.call('RENAME', key.rollout .. id, key.details .. id)
  redis.call('HSET', key.rollout .. id, unpack(line))
  local lifeMs = timing.keptForRepeatsMs + (hardLifeMs or aDayMs)
  redis.call('PEXPIRE', key.rollout .. id, lifeMs)
  local lineage, attempt = Rollout.lineageOf(id)
  if Rollout.newestOf(lineage) == attempt then redis.call('PEXPIRE', key.newest .. lineage, lifeMs) end
  if isGradedLate then
    redis.call('PEXPIRE', key.transcript .. id, timing.keptForRepeatsMs)
  else
    redis.call('DEL', key.transcript .. id)
  end
  keepForRepeats(id)
end

return {
  addDigest = addDigest,
  recall = recall,
  keepForRepeats = keepForRepeats,
  shrink = shrink,
}
