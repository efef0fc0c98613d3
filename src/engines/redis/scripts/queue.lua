-- Begins every script that reads a queue.

-- An entry: where it is in three sorted sets of the name by its order, one for each kind of mode:
-- x exclusive, r shared, p permits(n), whose mode is written 'p' and n. `order` stays a text.
local function entry_of(member)
  local order, id, inc, request, mode, client =
      string.match(member, '^(%d+):(%x+):(%d+):(%d+):(%w+):%-?%d+:(%x*)$')
  if not order then
    refuse('HFDAMAGED an entry is not one of holdfast: ' .. string.sub(member, 1, 100))
  end
  return {order = order, id = id, inc = inc, request = request, mode = mode, client = client,
          member = member}
end

local function kind_of(mode)
  return string.sub(mode, 1, 1)
end

local function queue_key(kind, name)
  return P .. kind .. ':' .. name
end

local function field_of(request, name)
  return request .. ':' .. name
end

-- Seen of a session that has no record; no beat gets as far. LARGEST, ready made.
local NO_BEAT = '9007199254740991'

local known_sessions = {}

-- What a successor must note: inc, beat, denied, ttl, device, inode, pid; or false.
local function session_of(id)
  local known = known_sessions[id]
  if known == nil then
    known = run('HMGET', session_key(id), 'inc', 'beat', 'denied', 'ttl', 'device', 'inode', 'pid')
    if not known[1] then
      known = false
    elseif not (known[2] and known[3] and known[4] and known[5] and known[6] and known[7]
                and is_ttl(known[4])) then
      refuse_record(id)
    elseif not all_short(known) then
      refuse_long(id)
    end
    known_sessions[id] = known
  end
  return known
end

-- The sessions whose end is under way, as ID:INC; nil: not read yet.
local ended_sessions

-- A record that is gone without being listed there was deleted by somebody: its lease may run.
local function has_ended(e)
  if not ended_sessions then
    ended_sessions = {}
    local jobs = run('LRANGE', P .. 'ended', 0, -1)
    for i = 1, #jobs do
      ended_sessions[jobs[i]] = true
    end
  end
  return ended_sessions[e.id .. ':' .. e.inc]
end

-- Its session has not ended; and that of a denied one knows that it holds, for it will not learn
-- that any more.
local function is_live(name, e)
  local s = session_of(e.id)
  if not s then
    return not has_ended(e)
  elseif s[1] ~= e.inc then
    return false
  end
  return s[3] == '0'
      or run('HEXISTS', entries_key('held', e.id, e.inc), field_of(e.request, name)) == 1
end

local function by_order(a, b)
  return tonumber(a.order) < tonumber(b.order)
end

-- All live entries below `before` (a text, or '+inf'), oldest first.
local function live_entries(name, before)
  local all, kinds = {}, 0
  for _, kind in ipairs({'x', 'r', 'p'}) do
    local members = run('ZRANGEBYSCORE', queue_key(kind, name), '-inf', before)
    if #members > 0 then
      kinds = kinds + 1
    end
    for i = 1, #members do
      local e = entry_of(members[i])
      if is_live(name, e) then
        all[#all + 1] = e
      end
    end
  end
  if kinds > 1 then
    table.sort(all, by_order)
  end
  return all
end

-- How many live entries of each kind are below `before`, and the mode of one permit among them.
-- While nobody's entries wait to be swept, every entry is live and need not be looked at.
local function count_entries(name, before, unswept)
  local count = {x = 0, r = 0, p = 0}
  if not unswept then
    for kind in pairs(count) do
      count[kind] = before == '+inf' and run('ZCARD', queue_key(kind, name))
          or run('ZCOUNT', queue_key(kind, name), '-inf', before)
    end
    if count.p > 0 then
      count.permits = entry_of(run('ZRANGE', queue_key('p', name), 0, 0)[1]).mode
    end
    return count
  end
  for _, e in ipairs(live_entries(name, before)) do
    local kind = kind_of(e.mode)
    count[kind] = count[kind] + 1
    if kind == 'p' then
      count.permits = e.mode
    end
  end
  return count
end

-- Its owner learns that it holds. From now on the entry counts until the session ends, also when
-- the session is denied.
local function give(name, e)
  local field = field_of(e.request, name)
  local held, waiting = entries_key('held', e.id, e.inc), entries_key('waiting', e.id, e.inc)
  -- An entry that is there and cannot be given would be in the way of all behind it.
  allow_when_full(held)
  run('HSET', held, field, e.member)
  run('HDEL', waiting, field)
end

-- Whether an entry behind these holds the lock; the same as granted() of src/core/queue.hpp.
local function is_granted(mode, older)
  local kind = kind_of(mode)
  if kind == 'x' then
    return older.x + older.r == 0
  elseif kind == 'r' then
    return older.x == 0
  end
  return older.p < tonumber(string.sub(mode, 2))
end
