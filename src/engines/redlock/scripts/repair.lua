-- KEYS lock, cache, node, session
-- ARGV value, ttl, token, nonce
return answer(function()
  local node = admitted(KEYS[3], ARGV[4])
  local now = time_of(node)
  live_session(KEYS[4])
  allowed_ttl(node, ARGV[2])
  local token = token_from(ARGV[3])
  local left = run('PTTL', KEYS[1])
  if left ~= -2 then
    return {0, now, left}
  end
  token = math.max(token, counter_of(KEYS[2], node))
  keep_counter(KEYS[2], KEYS[3], node, token, now)
  if not run('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {0, now, -1}
  end
  return {1, now}
end)
