-- KEYS lock
-- ARGV value, seat, own, keep
return answer(function()
  local there = redis.pcall('GET', KEYS[1])
  if type(there) == 'table' and there.err then
    -- Another type of value is certainly not ours.
    if string.find(there.err, 'WRONGTYPE', 1, true) then
      return 0
    end
    fail(there.err, 'GET', KEYS[1])
  end
  if there then
    if ARGV[1] == '' or there ~= ARGV[1] then
      return 0
    end
    run('DEL', KEYS[1])
  elseif ARGV[1] ~= '' then
    return 0
  end
  -- A hint to whoever waits: where it cannot be given, they look by themselves.
  return call_waiters(KEYS[1])
end)
