-- KEYS lock, cache, node
-- ARGV value, token, nonce, epoch
return answer(function()
  local node = admitted(KEYS[3], ARGV[3])
  same_epoch(node, ARGV[4])
  local now = time_of(node)
  local token = token_from(ARGV[2])
  if run('GET', KEYS[1]) ~= ARGV[1] then
    return 0
  end
  token = math.max(token, counter_of(KEYS[2], node))
  keep_counter(KEYS[2], KEYS[3], node, token, now)
  return 1
end)
