-- requires: record, rollout, run, verdict
-- What trainers and people are told of runs.

-- A run in sum: its counters, how many are undecided, and its items by the start of their newest wave. What became of their
-- groups `report-groups` tells, some items at a time: a run may have tens of thousands.
script('report-run', function(ask)
  local run = ask.run
  local counters = redis.call('HGETALL', key.run .. run)
  if #counters == 0 then return nil end
  noteVerdictOf(redis.call('HGET', key.run .. run, 'decidedAtMs'))
  -- One that can never be scored keeps its lease, so that its calls are answered; for the trainer it is over.
  local undecided = redis.call('SCARD', key.open .. run)
    - redis.call('ZINTERCARD', 2, key.open .. run, key.discards .. run)
  return { counters = counters, open = undecided, items = redis.call('ZRANGE', key.groups .. run, 0, -1) }
end)

-- One row for each wave of each of these items of a run.
reading('report-groups', function(ask)
  local rows = {}
  noteVerdictOf(redis.call('HGET', key.run .. ask.run, 'decidedAtMs'))
  for _, item in ipairs(ask.items) do
    local group, values = redis.call('HGETALL', key.group .. ask.run .. '/' .. item), {}
    for field = 1, #group, 2 do values[group[field]] = group[field + 1] end
    for wave = math.max(1, (values.wave or 0) - Run.wavesKept + 1), tonumber(values.wave or 0) do
      local row = { item = item, wave = wave }
      for _, name in ipairs({ 'n', 'scored', 'discarded', 'voided', 'mean', 'best', 'm2' }) do row[name] = values[wave .. ':' .. name] end
      row.codes = cjson.decode(values[wave .. ':codes'] or '{}')
      rows[#rows + 1] = row
    end
  end
  return rows
end)

-- A page of a run's rollouts in the order they came, after ordinal `cursor`. A script looks at a bounded number of
-- them, so a page may be short; the cursor says where to go on, and is absent at the end.
script('list-rollouts', function(ask)
  local run, verdict, code, item = ask.run, ask.verdict, ask.code, ask.item
  local lookedAt, pageMax = 500, 100
  local wantsDiscarded = verdict == 'discard' or code
  local list = (wantsDiscarded and key.discards or key.rollouts) .. run

  local function matches(id)
    if item and Rollout.read(id, 'itemKey') ~= item then return false end
    local _, discarded = Verdict.read(id)
    if verdict == 'scorable' and discarded then return false end
    if verdict == 'discard' and not discarded then return false end
    return not code or (discarded and discarded.code == code)
  end

  local found = {}
  local page = redis.call('ZRANGEBYSCORE', list, '(' .. ask.cursor, '+inf', 'WITHSCORES', 'LIMIT', 0, lookedAt)
  for index = 1, #page, 2 do
    local values = matches(page[index]) and Record.read(page[index])
    if values then found[#found + 1] = values end
    if #found == pageMax then return { rollouts = found, cursor = page[index + 1] } end
  end
  return { rollouts = found, cursor = #page == 2 * lookedAt and page[#page] or nil }
end)

-- A tenant's runs of the last seven days, the newest first.
script('list-runs', function(ask)
  return redis.call('ZRANGE', key.runs .. ask.tenant, '+inf', nowMs - Rollout.keptForReportsMs, 'BYSCORE', 'REV')
end)

-- What all sandboxes have cost so far: `environment state` and milliseconds, one after the other.
script('list-cost', function()
  return redis.call('HGETALL', key.cost)
end)
