-- KEYS lock, cache, node, session
-- ARGV value, ttl, hint, nonce, epoch
local DAY = 86400000000

return answer(function()
  local node = admitted(KEYS[3], ARGV[4])
  same_epoch(node, ARGV[5])
  local now = time_of(node)
  live_session(KEYS[4])
  allowed_ttl(node, ARGV[2])
  local left = run('PTTL', KEYS[1])
  if left ~= -2 then
    return {0, now, left}
  end
  local counter = counter_of(KEYS[2], node)
  local hint = tonumber(ARGV[3])
  -- A hint saves the raise and nothing else; one from a wrong clock would use up the tokens.
  if hint and hint > counter and hint <= now + DAY then
    counter = hint
  end
  counter = counter + 1
  if not (counter <= BELIEVABLE) then
    refuse('HFCOUNTER ' .. digits(counter) .. ' is above 2^52 - 1, the largest token')
  end
  -- The lock last: an error after the first write undoes nothing.
  keep_counter(KEYS[2], KEYS[3], node, counter, now)
  if not run('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {0, now, -1}
  end
  return {counter, now}
end)
