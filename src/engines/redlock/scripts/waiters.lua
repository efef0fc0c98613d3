-- Begins the release, behind quick_release, which may have counted already.

local function published(channel)
  return type(redis.pcall('PUBLISH', channel, 'released')) == 'number'
end

-- ARGV  value, seat, own, keep, scope
-- 1: no other client waits; 2: it cannot be told, because this user may not count them, and then
-- all are told, or not publish; 3: others wait, and the next one behind our seat is called, unless
-- the lock is kept.
local function call_waiters(name)
  local keeps = (ARGV[4] or '0') ~= '0'
  local channels = 'holdfast:free:' .. (ARGV[5] or '')
  local all = channels .. 'all:' .. name
  count = count or redis.pcall('PUBSUB', 'NUMSUB', all)
  if count.err then
    if not keeps then
      published(all)
    end
    return 2
  end
  local own = tonumber(ARGV[3]) or 0
  if count[2] <= own then
    return 1
  end
  if keeps then
    return 3
  end
  local from = tonumber(ARGV[2]) or tonumber(string.sub(ARGV[1], 1, 2), 16) or 0
  -- Counted a row at a time: where many wait the next one is near.
  local SEATS, ROW = 64, 8
  for first = 1, SEATS, ROW do
    local row = {}
    for i = first, first + ROW - 1 do
      row[#row + 1] = channels .. (from + i) % SEATS .. ':' .. name
    end
    local counts = redis.pcall('PUBSUB', 'NUMSUB', unpack(row))
    for i = 1, ROW do
      -- Our own seat comes last; `own` of those who hear it are ourselves.
      local ours = first + i - 1 == SEATS and own or 0
      if counts[2 * i] > ours then
        return published(row[i]) and 3 or 2
      end
    end
  end
  return published(all) and 3 or 2
end
