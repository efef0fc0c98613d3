-- Begins every script that answers what a waiter sees.

local GRANTED, QUEUED, BUSY = 1, 2, 3

-- The members of all live entries below `before`, oldest first. Nearly always they are of one kind
-- and all alive, and then they are what Redis gives: a thousand may wait.
local function live_members(name, before, unswept)
  local found
  for _, kind in ipairs({'x', 'r', 'p'}) do
    local members = run('ZRANGEBYSCORE', queue_key(kind, name), '-inf', before)
    if #members > 0 then
      if found or unswept then
        found = nil
        break
      end
      found = members
    end
  end
  if found then
    return found
  end
  found = {}
  for i, e in ipairs(live_entries(name, before)) do
    found[i] = e.member
  end
  return found
end

-- [what, order, left; entries, sessions, record of the oldest's session]. `own` is nil for a try,
-- which leaves none. One text for each session: a thousand arrays would take longer than the rest.
local function seen(what, own, name, left)
  local entries = live_members(name, own and '(' .. own.order or '+inf', left)
  local sessions, told, first = {}, {}, {}
  for i = 1, #entries do
    local colon = string.find(entries[i], ':', 1, true) or 0
    local id = string.sub(entries[i], colon + 1, colon + 32)
    if not told[id] then
      local s = session_of(id)
      if not s then
        refuse('HFDAMAGED an entry has no session: ' .. string.sub(entries[i], 1, 100))
      end
      told[id] = true
      sessions[#sessions + 1] = id .. ' ' .. table.concat(s, ' ')
    end
    if i == 1 then
      first = run('HGETALL', session_key(id))
    end
  end
  if own then
    entries[#entries + 1] = own.member
  end
  return {what, own and own.order or '0', flag(left), entries, sessions, first}
end

-- The entry of this request, and whether its session was told that it holds.
local function own_entry(id, inc, field)
  local held = run('HGET', entries_key('held', id, inc), field)
  if held then
    return entry_of(held), true
  end
  local waiting = run('HGET', entries_key('waiting', id, inc), field)
  return waiting and entry_of(waiting), false
end

-- What the owner of an entry that is there is told.
local function answer_for(name, e, is_told, left)
  if not is_told and not is_granted(e.mode, count_entries(name, '(' .. e.order, left)) then
    return seen(QUEUED, e, name, left)
  end
  -- Also once it was told: who waits for replicas waits for what this call wrote.
  give(name, e)
  return {GRANTED, e.order, flag(left)}
end
