-- A page of a run's rollouts in the order they came, after ordinal `cursor`. A script looks at a bounded number of
-- them, so a page may be short; the cursor says where to go on, and is false at the end.
local run, verdict, code, cursor = unpack(ARGV, 2)
local lookedAt, pageMax = 500, 100
local wantsDiscarded = verdict == 'discard' or code ~= ''
local list = (wantsDiscarded and key.discards or key.rollouts) .. run

local function matches(id)
  local discarded = read(id, 'discard')
  if verdict == 'scorable' and discarded then return false end
  if verdict == 'discard' and not discarded then return false end
  return code == '' or discarded == code
end

local found = {}
local page = redis.call('ZRANGEBYSCORE', list, '(' .. cursor, '+inf', 'WITHSCORES', 'LIMIT', 0, lookedAt)
for index = 1, #page, 2 do
  local values = matches(page[index]) and record(page[index])
  if values then found[#found + 1] = values end
  if #found == pageMax then return { found, page[index + 1] } end
end
return { found, #page == 2 * lookedAt and page[#page] }
