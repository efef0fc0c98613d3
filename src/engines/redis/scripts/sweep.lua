-- Begins every script that ends entries.

-- What one call removes at most: of those that end a session or do nothing else, and of those that
-- somebody waits for.
local SWEEP_MAX = 100
local SWEEP_BESIDE = 8

-- The lock goes over to an entry that holds it now, if the message reaches its client; else its
-- owner looks by itself, as it does for a hint. The message names this life: who may not read that
-- gives nothing. It is written before it is said, for what was heard cannot be taken back; an entry
-- that held before goes on holding, heard or not.
local function wake(name, e, holds)
  if e.client == '' then
    return
  end
  local held, waiting = entries_key('held', e.id, e.inc), entries_key('waiting', e.id, e.inc)
  local field = field_of(e.request, name)
  local is_new = holds and run('HSET', held, field, e.member) == 1
  local channel = 'holdfast:wake:' .. e.client
  local heard = redis.pcall('PUBLISH', channel, e.order .. (holds and '+' .. P or ''))
  if holds and type(heard) == 'number' and heard > 0 then
    run('HDEL', waiting, field)
  elseif is_new then
    run('HDEL', held, field)
  end
end

-- Of entries that wait to be swept it is not known here whether they are alive.
local function holds_now(name, e)
  return run('EXISTS', P .. 'ended') == 0
      and is_granted(e.mode, count_entries(name, '(' .. e.order, false))
end

-- The next entry of one kind behind `order`. It may be dead and not swept yet: whoever waits behind
-- it is woken when it is swept.
local function next_of(kind, name, order)
  local found = run('ZRANGEBYSCORE', queue_key(kind, name), '(' .. order, '+inf',
                    'LIMIT', 0, 1)[1]
  return found and entry_of(found)
end

-- Entries in their order: whether the first one holds is true of the first `alike`.
local function wake_all(name, members, alike)
  local holds
  for i = 1, #members do
    local e = entry_of(members[i])
    if i == 1 then
      holds = holds_now(name, e)
    end
    wake(name, e, holds and i <= alike)
  end
end

-- Wakes those that watch an entry which was removed: watch_targets() of src/core/queue.hpp, seen
-- from the other side.
local function wake_watchers(name, e)
  if kind_of(e.mode) == 'p' then
    local key, n = queue_key('p', name), tonumber(string.sub(e.mode, 2))
    local older = run('ZCOUNT', key, '-inf', '(' .. e.order)
    local first, last = math.max(older, n - 1), older + n - 1
    wake_all(name, run('ZRANGE', key, digits(first), digits(last)), 1)
    return
  end
  local writer = next_of('x', name, e.order)
  local reader = next_of('r', name, e.order)
  if writer and not (reader and by_order(reader, writer)) then
    wake(name, writer, holds_now(name, writer))
  elseif reader and e.mode == 'x' then
    -- No writer is between them.
    local readers = run('ZRANGEBYSCORE', queue_key('r', name), '(' .. e.order,
                        writer and '(' .. writer.order or '+inf')
    wake_all(name, readers, #readers)
  end
end

-- ZREM and HDEL first: they are allowed when the server is out of memory, and then so is the rest.
-- The hashes last: they are what a later sweep finds the entry by.
local function remove(name, e)
  local field = field_of(e.request, name)
  run('ZREM', queue_key(kind_of(e.mode), name), e.member)
  run('HDEL', entries_key('waiting', e.id, e.inc), field)
  run('HDEL', entries_key('held', e.id, e.inc), field)
  wake_watchers(name, e)
end

-- At least `room` fields of a hash, if there are so many from this cursor on, and the cursor behind
-- them. What a page has beyond `room` is left for the next scan.
local function scan(key, cursor, room)
  local found, from = {}, cursor
  repeat
    from = cursor
    local page = run('HSCAN', key, cursor, 'COUNT', digits(room))
    cursor = page[1]
    for i = 1, #page[2], 2 do
      found[#found + 1] = {page[2][i], page[2][i + 1]}
    end
  until cursor == '0' or #found >= room
  local is_cut = #found > room
  while #found > room do
    found[#found] = nil
  end
  return found, is_cut and from or cursor
end

-- Removes up to `room` entries of one session, and says how many, and whether it looked at all that
-- there are. `held`: the hash of entries that stay in their queues.
local function strip(key, room, held)
  -- In front of where the last call ended are only the places of what was removed: each would pass
  -- them all again.
  local swept = run('HGET', 'holdfast:store', 'swept') or ''
  local of, begin = string.match(swept, '^(.*) (%d+)$')
  local goes_on = of == key
  local found, cursor = scan(key, goes_on and begin or '0', room)
  for i = 1, #found do
    local field, member = found[i][1], found[i][2]
    if held and run('HEXISTS', held, field) == 1 then
      run('HDEL', key, field)
    else
      remove(string.match(field, '^%d+:(.*)$'), entry_of(member))
    end
  end
  -- Behind a removal, for a server that is out of memory refuses a first write.
  if cursor ~= '0' and #found > 0 then
    run('HSET', 'holdfast:store', 'swept', key .. ' ' .. cursor)
  elseif goes_on then
    run('HDEL', 'holdfast:store', 'swept')
  end
  return #found, cursor == '0' and not goes_on
end

-- Removes at most `room` entries of sessions that have ended, and those that denied ones wait with.
-- True when more are left.
local function sweep(room)
  while true do
    local job = run('LINDEX', P .. 'ended', 0)
    if not job then
      return false
    end
    if room <= 0 then
      return true
    end
    local id, inc = string.match(job, '^(%x+):(%d+)$')
    if not id then
      refuse('HFDAMAGED the list of ended sessions is not one of holdfast')
    end
    local waiting, held = entries_key('waiting', id, inc), entries_key('held', id, inc)
    local there = run('HMGET', session_key(id), 'inc', 'denied')
    local is_over = there[1] ~= inc
    if is_over or there[2] ~= '0' then
      local removed, whole = strip(waiting, room, not is_over and held)
      room = room - removed
      if is_over and room > 0 then
        local more, also = strip(held, room)
        room, whole = room - more, whole and also
      end
      if run('EXISTS', waiting) == 0 and not (is_over and run('EXISTS', held) == 1) then
        run('LPOP', P .. 'ended')
      elseif room > 0 and whole then
        refuse('HFDAMAGED entries of session ' .. id .. ' cannot be removed')
      end
    else
      -- It was to end, and the command that ends it was refused.
      run('LPOP', P .. 'ended')
    end
  end
end

-- Sweeps when a command has done what it was asked for, which no damage that is met now undoes.
-- Whoever is next to enqueue hears of that.
local function sweep_behind(room)
  local done, left = pcall(sweep, room)
  return not done or left
end

-- Deletes a session's record, which ends all its entries at once. True when some are left to sweep.
-- What names the work is written first: a refusal later undoes nothing.
local function end_session(id, inc)
  allow_when_full(session_key(id))
  if run('EXISTS', entries_key('waiting', id, inc), entries_key('held', id, inc)) > 0 then
    run('RPUSH', P .. 'ended', id .. ':' .. inc)
  end
  run('DEL', session_key(id))
  run('SREM', P .. 'sessions', id)
  known_sessions[id] = nil
  ended_sessions = nil
  return sweep_behind(SWEEP_MAX)
end

local function flag(truth)
  return truth and 1 or 0
end
