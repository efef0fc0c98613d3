#!/usr/bin/env bats

# A redlock:// store whose servers, or the way to them, are slow.

load setup
load servers
load redlock_servers

@test "of nodes that are slow to tell their state it is said since when, and what to do" {
  initialised
  # They greet, and answer no script, which may write.
  for i in 1 2 3; do cli "$i" CLIENT PAUSE 20000 WRITE; hang "$i"; done
  (sleep 1.5; for i in 1 2 3; do go_on "$i"; done) 3>&- &
  run holdfast run x --store "redlock://$nodes?node_timeout=50ms" -- true
  wait $!
  for i in 1 2 3; do cli "$i" CLIENT UNPAUSE; done
  [[ $status == 69 ]]
  [[ $output =~ "$(port_of 1) has not told its state yet, "[0-9.]+m?s\ after\ it\ was\ asked ]] || {
    echo "$output"
    return 1
  }
  says 'each question is given 2s' 'Try again in a moment; a server of which this is said each time'
  says '; --wait DURATION goes on trying ['
  expect 0 holdfast run x -- true
}

# How many scripts the first server has run: a look takes one for every 100 keys.
scripts_run() { cli 1 INFO commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p'; }

@test "watch leaves a store with many keys alone most of the time" {
  initialised
  for i in 1 2 3 4 5; do
    cli "$i" EVAL "for i = 1, 5000 do redis.call('SET', 'k' .. i, 1) end" 0
  done
  before=$(scripts_run) began=$(date +%s%3N)
  expect 0 holdfast ls
  look_ms=$(($(date +%s%3N) - began)) look_scripts=$(($(scripts_run) - before))
  before=$(scripts_run)
  RUNMARK=$MARK timeout 5 "$HOLDFAST" watch || true
  busy_ms=$((($(scripts_run) - before) * look_ms / look_scripts))
  echo "a look: $look_ms ms, $look_scripts scripts; of 5000 ms busy: $busy_ms"
  ((look_scripts > 30 && busy_ms < 2500))
}
