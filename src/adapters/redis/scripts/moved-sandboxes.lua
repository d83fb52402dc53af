-- reads only: what has moved since a place, and a portion of all sandboxes in turn: a version before tells no moves.
-- ARGV: the place that the last reading gave, or nothing; the portion, which may be 0. A place of another Redis, of one that was written back
-- since, or too long ago begins anew: who reads on from here to the end of the turn has seen all.
local place, portion = ARGV[2], tonumber(ARGV[3])
local atOnce = 500 -- moves of one script: a millisecond

local last, beganMs, floor = unpack(redis.call('HMGET', key.moves, 'last', 'beganMs', 'floor'))
last = tonumber(last or 0)
local life = ARGV[1] .. ' ' .. (redis.call('GET', key.recovered) or '-') .. ' ' .. (beganMs or '-')

local itsLife, number, cursor = string.match(place, '^(.+) (%d+) (%d+)$')
number = tonumber(number)
local startsOver = itsLife ~= life or number < tonumber(floor or 0) or number > last
if startsOver then number, cursor = last, '0' end

local rows, isBehind = {}, false
local since = redis.call('ZRANGEBYSCORE', key.moved, '(' .. number, '+inf', 'WITHSCORES', 'LIMIT', 0, atOnce)
for index = 1, #since, 2 do rows[#rows + 1] = knownRow(since[index]) end
if #since == 2 * atOnce then number, isBehind = tonumber(since[#since]), true else number = last end

local isWhole = false
if portion > 0 then
  local walked
  cursor, walked = unpack(redis.call('SSCAN', key.sandboxes, cursor, 'COUNT', portion))
  for _, sandbox in ipairs(walked) do rows[#rows + 1] = knownRow(sandbox) end
  isWhole = cursor == '0'
end
return {
  life .. ' ' .. string.format('%.0f', number) .. ' ' .. cursor,
  startsOver and 1 or 0, isWhole and 1 or 0, isBehind and 1 or 0, rows,
}
