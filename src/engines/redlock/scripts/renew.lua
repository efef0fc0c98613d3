-- KEYS node, session, lock...
-- ARGV nonce, ttl, value...
return answer(function()
  local node = admitted(KEYS[1], ARGV[1])
  local now = time_of(node)
  live_session(KEYS[2])
  allowed_ttl(node, ARGV[2])
  -- The first write: it is allowed when the node is out of memory, and then so are the others.
  run('PEXPIRE', KEYS[2], ARGV[2])
  local ours = extended(3, 3, ARGV[2], digits(2 * node.max_ttl))
  run('HSET', KEYS[1], 'last_time', digits(math.max(node.last_time, now)))
  return {ours, now}
end)
