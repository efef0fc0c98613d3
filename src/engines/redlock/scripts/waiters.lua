-- Begins every script that frees a lock.

-- A client that waits sits on one of these.
local SEATS = 64
-- Counted at a time: where many wait the next one is near.
local ROW = 8

local function published(channel)
  return type(redis.pcall('PUBLISH', channel, 'released')) == 'number'
end

-- How many hear each of these channels; nothing where this user may not know.
local function hearing(channels)
  local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
  return not counts.err and counts or nil
end

-- Tells the next seat behind `from`, which comes last: `own` of those who hear it are ourselves.
local function call_next(name, from, own)
  for first = 1, SEATS, ROW do
    local row = {}
    for i = first, first + ROW - 1 do
      row[#row + 1] = 'holdfast:free:' .. (from + i) % SEATS .. ':' .. name
    end
    local counts = hearing(row)
    for i = 1, ROW do
      local mine = first + i - 1 == SEATS and own or 0
      if counts[2 * i] > mine then
        return published(row[i])
      end
    end
  end
  return false
end

-- 1: no other client waits; 2: this user may not tell; 3: others wait, and one of them is called
-- unless `keep`.
local function call_waiters(name, from, own, keep)
  local all = 'holdfast:free:all:' .. name
  local count = hearing({all})
  if not count then
    return published(all) and 1 or 2
  end
  if count[2] <= own then
    return 1
  end
  if keep or call_next(name, from, own) then
    return 3
  end
  return published(all) and 3 or 2
end
