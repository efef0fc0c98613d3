-- KEYS node
-- ARGV nonce, epoch
return answer(function()
  local node = admitted(KEYS[1], ARGV[1])
  local epoch = tonumber(ARGV[2])
  if not (epoch and epoch > tonumber(node.epoch) and epoch <= LARGEST) then
    refuse('HFEPOCH ' .. node.epoch .. ' is not below ' .. ARGV[2])
  end
  -- Nothing is deleted by this, but then a node that is out of memory allows the HSET.
  run('DEL', KEYS[1] .. ':none')
  run('HSET', KEYS[1], 'epoch', digits(epoch))
  return node.floor
end)
