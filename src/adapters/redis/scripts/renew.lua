-- "Still here" for many waiters at once, then ready sandboxes to those who may have them. Says who does not just wait any
-- more, and is to claim again; of the others, who may be hundreds each second, nothing needs to be said.
local refused, templates = {}, {}
for index = 2, #ARGV do
  local id = ARGV[index]
  local template = read(id, 'template')
  if template then
    refused[id] = stillHere(id)
    templates[template] = true
  end
end
for template in pairs(templates) do serveLine(template) end

local changed = {}
for index = 2, #ARGV do
  local id = ARGV[index]
  local state, taintCode = read(id, 'state', 'taintCode')
  if refused[id] or state ~= 'waiting' or taintCode then changed[#changed + 1] = id end
end
return changed
