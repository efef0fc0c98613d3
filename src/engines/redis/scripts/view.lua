-- Begins every script that answers what a waiter sees.

local GRANTED, QUEUED, BUSY, CONFLICTING = 1, 2, 3, 4

-- The members of all entries below `before`, oldest first, while they are of one kind; else nil.
local function only_kind(name, before)
  local found = {}
  for _, kind in ipairs({'x', 'r', 'p'}) do
    local members = run('ZRANGEBYSCORE', queue_key(kind, name), '-inf', before)
    if #members > 0 then
      if #found > 0 then
        return nil
      end
      found = members
    end
  end
  return found
end

-- The members of all live entries below `before`, oldest first. Nearly always they are of one kind
-- and all alive, and then they are what Redis gives: a thousand may wait.
local function live_members(name, before, unswept)
  local found = not unswept and only_kind(name, before)
  if found then
    return found
  end
  found = {}
  for i, e in ipairs(live_entries(name, before)) do
    found[i] = e.member
  end
  return found
end

-- What a successor notes of an entry's session that has no record, say because somebody deleted it.
-- Nobody can renew its lease any more: an incarnation never comes twice. When the longest ttl there
-- is has passed since a first sight of that, the lease has ended, and it may be taken.
local function without_record(e)
  local longest = run('HGET', 'holdfast:store', 'max_ttl')
  return {e.inc, NO_BEAT, '0', longest, '0', '0', '0'},
         {'inc', e.inc, 'beat', NO_BEAT, 'denied', '0', 'gate', '0', 'ttl', longest,
          'program', 'a session whose record is gone'}
end

-- An entry without a record in its place: whoever deleted that may have deleted this as well, by
-- which a sweep finds the entry.
local function list_again(name, e)
  run('HSET', entries_key('held', e.id, e.inc), field_of(e.request, name), e.member)
end

-- The entries below `before`, with the sessions that they are of, and the whole record of the first
-- one. One text for each session: a thousand arrays would take longer than the rest.
local function seen(name, before, left)
  local entries = live_members(name, before, left)
  local sessions, is_known, first = {}, {}, {}
  for i = 1, #entries do
    local colon = string.find(entries[i], ':', 1, true) or 0
    local id = string.sub(entries[i], colon + 1, colon + 32)
    if not is_known[id] then
      local s, record = session_of(id)
      if not s then
        s, record = without_record(entry_of(entries[i]))
      end
      is_known[id] = true
      sessions[#sessions + 1] = id .. ' ' .. table.concat(s, ' ')
      if i == 1 then
        first = record or record_of(id)
      end
    end
    if not session_of(id) then
      list_again(name, entry_of(entries[i]))
    end
  end
  return {left = left, entries = entries, sessions = sessions, first = first}
end

-- The answer with all that were seen, and behind them the member of an entry that waits.
local function view_of(what, s, order, member)
  s.entries[#s.entries + 1] = member
  return {what, order, flag(s.left), s.entries, s.sessions, s.first}
end

-- The entry of this request, and whether it is among those that hold. One that is in no queue is
-- none: a command was refused when it was to be added or after it was removed.
local function own_entry(id, inc, request, name)
  local field = field_of(request, name)
  local held, waiting = entries_key('held', id, inc), entries_key('waiting', id, inc)
  local holding = run('HGET', held, field)
  local member = holding or run('HGET', waiting, field)
  if not member then
    return nil, false
  end
  local e = entry_of(member)
  if run('ZCOUNT', queue_key(kind_of(e.mode), name), e.order, e.order) == 0 then
    run('HDEL', waiting, field)
    run('HDEL', held, field)
    return nil, false
  end
  return e, holding and true or false
end

-- The answer to the owner of an entry that is there.
local function answer_for(name, e, holds, left)
  if not holds and not is_granted(e.mode, count_entries(name, '(' .. e.order, left)) then
    return view_of(QUEUED, seen(name, '(' .. e.order, left), e.order, e.member)
  end
  -- Also where it holds already: a client that waits for replicas waits for what this call wrote.
  give(name, e)
  return {GRANTED, e.order, flag(left)}
end
