-- Begins every script that answers what a waiter sees.

local GRANTED, QUEUED, BUSY, CONFLICTING = 1, 2, 3, 4

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

-- What an observer notes of an entry's session that has no record, say because somebody deleted it.
-- Nobody can renew its lease any more: an incarnation never comes twice. When the longest ttl there
-- is has passed since a first sight of that, the lease has ended, and it may be taken.
local function without_record(e)
  local longest = run('HGET', 'holdfast:store', 'max_ttl')
  return {e.inc, NO_BEAT, '0', longest, '0', '0', '0'},
         {'inc', e.inc, 'beat', NO_BEAT, 'denied', '0', 'gate', '0', 'ttl', longest,
          'program', 'a session whose record is gone'}
end

-- [what, order, left; entries, sessions, record of the oldest's session], of the entries below
-- `before`: what a try is told. One text for each session: a thousand arrays would take longer than
-- the rest.
local function seen(name, before, left)
  local entries = live_members(name, before, left)
  local sessions, told, first = {}, {}, {}
  for i = 1, #entries do
    local colon = string.find(entries[i], ':', 1, true) or 0
    local id = string.sub(entries[i], colon + 1, colon + 32)
    if not told[id] then
      local s, record = session_of(id)
      if not s then
        s, record = without_record(entry_of(entries[i]))
      end
      told[id] = true
      sessions[#sessions + 1] = id .. ' ' .. table.concat(s, ' ')
      if i == 1 then
        first = record or run('HGETALL', session_key(id))
      end
    end
    if not session_of(id) then
      -- Whoever deleted the record may have deleted this, by which a sweep finds the entry.
      local e = entry_of(entries[i])
      run('HSET', entries_key('held', id, e.inc), field_of(e.request, name), e.member)
    end
  end
  return {BUSY, '0', flag(left), entries, sessions, first}
end

-- The same for an entry behind all that were seen.
local function queued(view, order, member)
  local entries = view[4]
  entries[#entries + 1] = member
  view[1], view[2] = QUEUED, order
  return view
end

-- The entry of this request, and whether its session was told that it holds. One that is in no
-- queue is none: a command was refused when it was to be added or after it was removed.
local function own_entry(id, inc, request, name)
  local field = field_of(request, name)
  local held, waiting = entries_key('held', id, inc), entries_key('waiting', id, inc)
  local told = run('HGET', held, field)
  local member = told or run('HGET', waiting, field)
  if not member then
    return nil, false
  end
  local e = entry_of(member)
  if run('ZCOUNT', queue_key(kind_of(e.mode), name), e.order, e.order) == 0 then
    run('HDEL', waiting, field)
    run('HDEL', held, field)
    return nil, false
  end
  return e, told and true or false
end

-- What the owner of an entry that is there is told.
local function answer_for(name, e, is_told, left)
  if not is_told and not is_granted(e.mode, count_entries(name, '(' .. e.order, left)) then
    return queued(seen(name, '(' .. e.order, left), e.order, e.member)
  end
  -- Also once it was told: who waits for replicas waits for what this call wrote.
  give(name, e)
  return {GRANTED, e.order, flag(left)}
end
