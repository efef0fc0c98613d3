-- Begins every script that has to write also when the server is out of memory.

-- A server that is out of memory refuses the first write of a script unless that one only deletes,
-- and nothing after it. So what has to be written all the same begins by deleting what is not
-- there.
local function allow_when_full(key)
  run('UNLINK', key .. ':none')
end
