-- The record of the store, whatever it is; the fields that are missing are null.
return answer(function()
  return run('HMGET', 'holdfast:store', 'format', 'nonce', 'run_id', 'admitted', 'floor', 'max_ttl',
             'durable', 'uncleaned', 'inherited', 'database')
end)
