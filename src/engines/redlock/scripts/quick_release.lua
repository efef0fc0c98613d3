-- Begins the release: a lock that is ours, before any function is made, for those cost more than
-- the commands. What goes another way, or wrong, is for what follows.
local there = redis.pcall('GET', KEYS[1])
local deleted = there == ARGV[1] and there ~= '' and redis.pcall('DEL', KEYS[1]) == 1
local count
if deleted then
  if ARGV[4] == '2' then
    return 2
  end
  count = redis.pcall('PUBSUB', 'NUMSUB', 'holdfast:free:' .. (ARGV[5] or '') .. 'all:' .. KEYS[1])
  if not count.err and count[2] <= (tonumber(ARGV[3]) or 0) then
    return 1
  end
end
