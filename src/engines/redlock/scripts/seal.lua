-- KEYS node
-- ARGV nonce, epoch
return answer(function()
  local node = admitted(KEYS[1], ARGV[1])
  local epoch = tonumber(ARGV[2])
  if not (epoch and epoch > tonumber(node.epoch) and epoch <= LARGEST) then
    refuse('HFEPOCH ' .. node.epoch .. ' is not below ' .. ARGV[2])
  end
  allow_when_full(KEYS[1])
  run('HSET', KEYS[1], 'epoch', digits(epoch))
  return node.floor
end)
