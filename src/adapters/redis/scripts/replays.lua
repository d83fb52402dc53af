-- requires: ending, record, rollout, setup
-- Replays of set-up in the sandbox that a rollout was given in place of a lost one.

-- How a step has ended there, if the caller replayed one, and which is next; the reply's step follows raw as it was sent. A step that
-- ends otherwise than it did discards the rollout, because its trainer has another answer of that state. Two gateways may replay
-- at once: the journal runs each step once, and each of them reports the same.
script('replay-setup', function(ask, _, redisRun)
  local id, ended = ask.key, ask.ended
  local state, healing, generation = Rollout.read(id, 'state', 'healing', 'generation')
  if not healing or state ~= 'claimed' or tonumber(generation) ~= ask.generation then return { kind = 'over' } end

  local function lose(why)
    Ending.lose(id, healing, cjson.encode({ replay = why }), false)
    return { kind = 'lost', rollout = Record.read(id) }
  end

  local why = Setup.obstacle(id, redisRun)
  if why then return lose(why) end
  if not Setup.enter(id, ask.generation) then return lose('it was not done in any of three sandboxes') end
  if ended then
    local step = Setup.readStep(id, ended.step)
    if step.digest ~= ended.digest then return lose('the call ' .. step.call .. ' ended otherwise than before') end
    Setup.noteReplayed(id, ask.generation, ended.step)
  end

  local replayed, steps = Setup.progress(id, ask.generation)
  if replayed == steps then return { kind = 'done' } end
  local call = Setup.readStep(id, replayed + 1).call
  return { kind = 'step', step = replayed + 1, call = call }, { redis.call('HGET', key.setupSent .. id, call) }
end)
