#!/usr/bin/env bats

# A redlock:// store on five servers of the suite's own, from `redlock init` on.

load setup
load servers
load redlock_servers

@test "from empty servers to a lock whose tokens grow" {
  for words in 'run x -- true' ls 'show x' watch 'deny x' 'redlock status'; do
    expect 78 holdfast $words
    says 'Run: holdfast redlock init' '[not initialised]'
  done
  expect 78 holdfast doctor
  says fault 'Run: holdfast redlock init'
  expect 78 holdfast redlock status --json
  json 'assert a["trouble"] == "not_initialised" and a["votes"] == 0 and len(a["nodes"]) == 5, a
assert a["nodes"][0]["record"] is None and a["nodes"][0]["role"] == "master", a'
  expect 0 holdfast redlock init --json
  json 'assert a["trouble"] is None and a["votes"] == 5 and a["needed"] == 3 and a["tokens"], a
assert a["nodes"][4]["record"]["max_ttl_s"] == 60 and a["nodes"][4]["record"]["epoch"] > 1e15, a'
  first=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  second=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  ((first > 0 && second > first))
  expect 64 holdfast redlock init
  says 'set up already'
  expect 0 holdfast redlock status
  says '5 of 5 nodes vote, needed are 3' 'tokens are on'
}

@test "a signal ends a run that waits for nodes that hang, and its number is the code" {
  initialised
  for i in 1 2 3; do hang "$i"; done
  slow="redlock://$nodes?node_timeout=10s" failed=''
  ends_at_once 143 TERM run x --store "$slow" -- true || failed+=TERM
  ends_at_once 130 INT run x --store "$slow" -- true || failed+=INT
  run holdfast run -n x --store "redlock://$nodes?node_timeout=300ms" -- true
  for i in 1 2 3; do go_on "$i"; done
  [[ -z $failed && $status == 69 ]]
  says 'after connecting began; it hangs, this machine is too busy, or a firewall'
  expect 0 holdfast run x -- true
}

@test "what is wrong with the command line, the URL or the servers is told by its code" {
  expect 64 holdfast redlock
  expect 64 holdfast redlock destroy
  says 'init, status or recover'
  expect 64 holdfast redlock status --max-ttl 5s
  for action in init status; do
    expect 64 holdfast redlock $action --yes --store local:/is/not/there
    says "redlock $action: --yes is for recover"
  done
  expect 64 holdfast redlock init --max-ttl 5
  says 'unit'
  expect 64 holdfast redlock init --max-ttl 2h
  says '100ms to 1h'
  expect 64 holdfast redlock init --store redlock://
  expect 64 holdfast redlock init --store "redlock://$nodes?colour=red"
  need_local
  expect 64 holdfast redlock status --store "$store"
  says 'this URL begins with local:' 'redlock needs --store redlock://'
  expect 64 holdfast redlock recover --yes --store local:/is/not/there
  says 'this URL begins with local:'
  expect 64 holdfast ls --store "redlock://${nodes/,/, }"
  says 'has a blank in'
  expect 69 holdfast redlock init --store "$at&tokens=off"
  says 'keep no records'
  twin=localhost:$(port_of 1)
  expect 64 holdfast redlock init --store "redlock://$nodes,$twin?$patient"
  says 'is the same server as'
  stop_server 5
  expect 69 holdfast redlock init
  says 'init needs every node' 'cannot be used'
  stop_server 4
  expect 69 holdfast redlock init
  says "127.0.0.1:$(port_of 4) and 127.0.0.1:$(port_of 5) each: cannot connect"
  start_server 4 "$(port_of 4)"
  start_server 5 "$(port_of 5)" --cluster-enabled yes \
    --cluster-port $(($(port_of 5) + 2000)) --cluster-config-file cluster.conf
  expect 64 holdfast redlock init
  says 'node of a Redis Cluster'
  stop_server 5
  start_server 5 "$(port_of 5)" --replicaof 127.0.0.1 "$(port_of 1)"
  expect 64 holdfast redlock init
  says "127.0.0.1:$(port_of 5) is a replica"
  stop_server 5
  start_server 5 "$(port_of 5)" --maxmemory 100mb --maxmemory-policy allkeys-lru
  cli 4 CONFIG SET maxmemory 100mb >/dev/null
  cli 4 CONFIG SET maxmemory-policy volatile-lru >/dev/null
  expect 64 holdfast redlock init
  says 'maxmemory-policy noeviction' "127.0.0.1:$(port_of 4) drops keys" 'may_evict=yes'
  says "127.0.0.1:$(port_of 5) drops keys"
  local accepting="$HOLDFAST_STORE&may_evict=yes"
  expect 0 holdfast redlock init --store "$accepting"
  expect 69 holdfast doctor --store "$accepting"
  says fault 'drops keys when its memory limit is reached' '5 of 5 nodes vote'
  expect 69 holdfast doctor
  says fault 'accept it: may_evict=yes'
  stop_server 5
}

@test "a replica among the nodes of a new store is to be taken out of the list" {
  stop_server 5
  start_server 5 "$(port_of 5)" --replicaof 127.0.0.1 "$(port_of 1)"
  expect 64 holdfast redlock status
  says 'is a replica' 'take it out of the list'
  [[ $output != *'Run: holdfast redlock init'* && $output != *slave* ]]
  stop_server 5
}

# voting N: so many nodes vote. One that lags is brought up after some node timeouts, so they are
# the short ones here: whoever asks too early asks again.
voting() { holdfast redlock status --store "redlock://$nodes" | grep -q "$1 of 5 nodes vote"; }

# Whether nodes take writes: refuse_writes 1 NODE...; refuse_writes 0 NODE...
refuse_writes() {
  local i
  for i in "${@:2}"; do cli "$i" CONFIG SET min-replicas-to-write "$1" >/dev/null; done
}

@test "init names the nodes that do not confirm, and what is to be done for them" {
  refuse_writes 1 5
  expect 69 holdfast redlock init --max-ttl 3s
  one_left=$output
  expect 0 holdfast run x --ttl 3s -- true
  refuse_writes 0 5
  until_true voting 5

  for i in 1 2 3 4 5; do cli "$i" FLUSHALL >/dev/null; done
  refuse_writes 1 1 2 3 4 5
  expect 69 holdfast redlock init
  none=$output
  refuse_writes 0 4 5
  expect 69 holdfast redlock init
  some=$output
  refuse_writes 0 1 2 3
  expect 64 holdfast redlock init
  expect 0 holdfast redlock recover --yes

  output=$one_left
  says '4 of 5 nodes confirmed' "127.0.0.1:$(port_of 5): NOREPLICAS" 'Locks can be granted' \
    '4 of 5 nodes vote' 'max_ttl (3s)'
  [[ $output != *recover* && $output != *"127.0.0.1:$(port_of 1): "* ]]
  output=$none
  says '0 of 5 nodes confirmed' NOREPLICAS 'then run: holdfast redlock init'
  output=$some
  says '2 of 5 nodes confirmed' NOREPLICAS 'then run: holdfast redlock recover'
}

@test "that all nodes refuse writes is a fault for doctor, and cannot be seen by status" {
  initialised
  refuse_writes 1 1 2 3 4 5
  run holdfast doctor
  said=$output code=$status
  expect 0 holdfast redlock status
  refuse_writes 0 1 2 3 4 5
  output=$said
  says fault NOREPLICAS 'recorded by 0 of 5 nodes'
  [[ $code == 69 ]]
  expect 0 holdfast doctor
}

@test "another list of nodes is refused, and so is a ttl above max_ttl" {
  initialised --max-ttl 20s
  expect 64 holdfast run x --store "redlock://${nodes%,*}?$patient" -- true
  says 'belongs to another list of nodes. Use' 'in the same spelling as the other clients'
  says "recover --store 'redlock://" "' --other-list"
  expect 64 holdfast run x --store "redlock://$nodes,127.0.0.1:9?$patient" -- true
  says 'each belongs to another list of nodes, which lacks 127.0.0.1:9. Use'
  expect 64 holdfast redlock init --store "redlock://${nodes%,*}?$patient"
  says 'another list of nodes' 'Use the list of that store'
  [[ $output != *recover* ]]
  expect 64 holdfast redlock status --other-list
  says '--other-list is for recover'
  expect 64 holdfast redlock recover --yes --store "redlock://${nodes%,*}?$patient"
  says 'another list of nodes: 127.0.0.1' 'nothing was written' 'add --other-list'
  expect 64 holdfast run x --ttl 30s -- true
  # As it stands, it can be typed.
  says 'max_ttl' '20s' 'holdfast redlock recover --max-ttl 30s, see'
  expect 64 holdfast run x --store "$at&ttl=25s" -- true
  expect 0 holdfast run x -- true
  expect 0 holdfast doctor
  says 'With a ttl of 20s' 'and so does that of one that crashed' 'its clock is within '
  [[ $output != *pidfd* ]]
  expect 0 holdfast doctor --store "$at&ttl=5s"
  says 'With a ttl of 5s'
  HOLDFAST_TTL=25s expect 64 holdfast doctor
  says fault 'no session is opened with 25s: the store takes 20s at most' \
    'holdfast redlock recover --max-ttl 25s, see'
  expect 0 holdfast run x --ttl 15s -- true
  expect 0 holdfast doctor --store "$at&max_ttl=30s"
  says "the URL's max_ttl is 30s" "the record of 127.0.0.1:$(port_of 1) 20s"
  says 'recover --store' '--max-ttl 30s changes the records'
  expect 0 holdfast doctor --store "$at&max_ttl=20s"
  [[ $output != *"the URL's max_ttl"* ]]
  expect 0 holdfast redlock recover --yes --other-list --store "redlock://${nodes%,*}?$patient"
  expect 0 holdfast run x --ttl 15s --store "redlock://${nodes%,*}?$patient" -- true
  expect 0 holdfast redlock recover --yes --other-list
  expect 69 holdfast run x --shared --ttl 15s -- true
  says 'unsound over independent masters' 'local: (one machine)' redis:// etcd:// zookeeper://
}

# x_is_held: on every node; the holder goes on when a majority has answered.
x_is_held() {
  local i
  for i in 1 2 3 4 5; do [[ $(cli "$i" EXISTS x) == 1 ]] || return 1; done
}

@test "busy, waiting, and a killed holder, whose lock is free after its ttl" {
  initialised
  hold_it --ttl 4s
  until_true x_is_held
  expect 75 holdfast run x --no-wait -- true
  says "held by sh (pid $holder on host " '[refused]'
  expect 0 holdfast show x
  says 'held' 'sh'
  expect 75 holdfast run x --wait 1s -- true
  says "held by sh (pid $holder on host " '; waited '
  [[ $output != *'granted by 0'* && $output != *'holdfast show'* ]]
  expect 0 holdfast ls --json
  json 'e = a["locks"][0]["entries"][0]; assert e["state"] == "held" and e["token"] > 0, a
assert e["owner"]["program"] == "sh", a'
  holdfast run x -- echo mine >mine &
  sleep 0.1
  release
  wait $!
  [[ $(<mine) == mine ]]
  hold_it --ttl 3s
  kill -KILL "$holder"
  wait "$holder" || true
  SECONDS=0
  expect 0 holdfast run x -- true
  # And not the ttl of another, 30 s, or the max_ttl.
  ((SECONDS < 20))
}

# sessions_are N: who waits is not told by this store, but its session is.
sessions_are() {
  run holdfast ls --sessions --json
  json "sys.exit(len(a['sessions']) != $1)"
}

@test "who waits while the store goes away gets 69 and the names of the nodes, a holder 76" {
  initialised
  hold_it --ttl 4s 2>told
  in_background run x --ttl 3s -- sh -c ': >ran' 2>said
  waiter=$pid
  until_true sessions_are 2
  sleep 0.3
  for i in 1 2 3; do stop_server "$i"; done
  code=0
  wait $waiter || code=$?
  [[ $code == 69 && ! -e ran ]]
  grep "nothing was run.*no heartbeat.*127.0.0.1:$(port_of 1)" said
  code=0
  wait "$holder" || code=$?
  [[ $code == 76 ]]
  grep "127.0.0.1:$(port_of 1).*cannot connect" told
}

@test "a run inside a run of the same lock is 75 although the store does not tell who waits" {
  initialised
  expect 75 timeout 30 "$HOLDFAST" run x -- "$HOLDFAST" run x -- true
  says 'wait for itself'
  expect 75 timeout 30 "$HOLDFAST" run x -- "$HOLDFAST" run y -- "$HOLDFAST" run x -- true
  expect 0 holdfast run x -- "$HOLDFAST" run y -- true
}

@test "the leader of an election and its value are told" {
  initialised
  expect 75 holdfast leader head
  in_background elect head --value 'host-a 80' -- "${until_go[@]}"
  leader=$pid
  until_true sh -c "[ \"\$('$HOLDFAST' leader head)\" = 'host-a 80' ]"
  : >go
  wait $leader
  expect 75 holdfast leader head
}

@test "a denied holder is stopped, and its lock is free after that" {
  initialised
  deny_stops_the_holder 4s
  expect 0 holdfast run x -- true
  expect 69 holdfast break x --store "$at" || expect 64 holdfast break x
}

@test "a dead node changes nothing; without a majority it is 69" {
  initialised
  stop_server 1
  stop_server 2
  expect 0 holdfast run x -- true
  expect 0 holdfast redlock status
  says '3 of 5 nodes vote'
  expect 0 holdfast doctor
  says 'does not vote' 'cannot connect'
  stop_server 3
  for words in 'run x -- true' ls 'redlock status' 'redlock recover --yes' doctor; do
    expect 69 holdfast $words
  done
}

@test "a lock that could not be released is told as what it is for others" {
  initialised
  stop=
  for i in 1 2 3; do stop+="redis-cli -p $(port_of "$i") SHUTDOWN NOSAVE; "; done
  expect 0 holdfast run x --ttl 6s -- sh -c "$stop"
  says 'not released in the store, where it ends with its ttl (6s)' 'only a process that goes on'
  says 'for which others may have to wait'
  expect 69 holdfast doctor
  [[ $output != *pidfd* ]]
}

@test "recover leaves alone what a majority holds" {
  initialised
  expect 0 holdfast redlock recover --yes
  says '5 of 5 nodes vote' 'nothing to recover' 'nothing was written'
  hang 4
  hang 5
  hold_it
  cli 1 FLUSHALL
  go_on 4
  go_on 5
  until_true voting 4
  expect 75 holdfast run x --no-wait -- true
  [[ $output != *'not connected'* ]]
  expect 75 holdfast redlock recover --yes
  says '4 of 5 nodes vote' 'nothing was written' "127.0.0.1:$(port_of 1)" 'by itself'
  # Nobody is asked for what would be refused.
  expect 75 holdfast redlock recover </dev/null
  says '4 of 5 nodes vote' 'nothing to recover' 'nothing was written' 'by itself'
  expect 75 holdfast redlock recover --yes --max-ttl 5m
  says 'max_ttl is changed when' 'nothing was written' "127.0.0.1:$(port_of 1)"
  expect 75 holdfast run x --no-wait -- true
  release
}

@test "a key of another program is no free lock, and no lock" {
  initialised
  for i in 1 2 3 4 5; do cli "$i" SET backup data; done
  expect 75 holdfast run backup --no-wait -- true
  says 'that key has no ttl'
  expect 75 holdfast run backup --wait 1s -- true
  says 'held by somebody else; that key has no ttl' 'waited'
  expect 0 holdfast show backup
  says 'what other programs keep under that name is not shown'
  [[ $output != *free* ]]
  hold_it
  expect 0 holdfast ls
  [[ $(tail -n 1 <<<"$output") == *'?' ]]
  in_background run x --wait 5s -- true 2>said
  waiter=$pid
  until_true sessions_are 2
  for i in 1 2 3 4 5; do cli "$i" SET x data; done
  code=0
  wait "$waiter" || code=$?
  [[ $code == 75 ]]
  grep 'that key has no ttl.*waited' said
  release || true
}

@test "a majority that lost its state comes back by recover, which asks" {
  initialised
  before=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  for i in 1 2 3; do cli "$i" FLUSHALL; done
  expect 69 holdfast run x -- true
  says 'Waiting alone brings none back' 'wait until max_ttl has passed' 'holdfast redlock recover'
  [[ $output != *'does not vote for'* ]]
  [[ $output != *--wait* ]]
  for words in ls 'ls --names' 'show x' 'ls --json'; do
    expect 0 holdfast $words
    says warning 'locks may be held that are not shown: ' 'lost its state' 'redlock recover'
  done
  expect 64 holdfast redlock recover </dev/null
  says 'may be granted again' '--yes'
  cat >talk.exp <<'T'
set timeout 30
spawn $env(HOLDFAST) redlock recover
expect_after timeout {exit 1} eof {exit 2}
expect "gives up"
expect "2 of 5 nodes vote"
expect "Type yes: "
send "$env(ANSWER)\r"
expect eof
lassign [wait] pid spawned failed code
exit $code
T
  export ANSWER=no
  expect 75 timeout 60 expect talk.exp
  expect 69 holdfast redlock status
  ANSWER=yes expect 0 timeout 60 expect talk.exp
  after=$(holdfast run x -- sh -c 'echo $HOLDFAST_TOKEN')
  ((after > before))
  expect 0 holdfast ls
  [[ $output != *warning* ]]
}

@test "tokens=off gives no token, not even that of the run around it, and denies nobody" {
  initialised
  plain="$at&tokens=off&assume_fresh=yes"
  expect 0 holdfast run x -- "$HOLDFAST" run y --store "$plain" -- \
    sh -c 'echo "<${HOLDFAST_TOKEN-unset}>"'
  [[ $output == '<>' ]]
  hold_it --store "$plain"
  expect 75 holdfast run x --no-wait --store "$plain" -- true
  hint=$(sed -n 's/.*who has it: holdfast \(.*\) \[refused.*/\1/p' <<<"$output")
  expect 0 eval "holdfast $hint"
  says 'held' 'tokens=off'
  expect 69 holdfast leader x --store "$plain"
  says 'publishes nothing' 'tokens=off'
  expect 69 holdfast elect head --value here --store "$plain" -- touch led
  says 'keeps no value' 'leave tokens=off out'
  [[ ! -e led ]]
  expect 0 holdfast ls --store "$plain" --json
  json 'assert a["locks"][0]["entries"][0]["token"] is None, a'
  expect 69 holdfast deny x --store "$plain"
  says 'none can be denied'
  for _ in 1 2; do # By who has tokens: as often as it is tried, and nothing is written.
    expect 69 holdfast deny x
    says 'keeps no session' 'nothing was changed' 'tokens=off'
  done
  [[ -z $(cli 1 --scan --pattern 'holdfast:session:*') ]]
  release
  expect 69 holdfast run x --store "$at&tokens=off" -- true
  says 'has not seen before' 'may have granted what is still held' 'it votes in' 'assume_fresh=yes'
}

@test "tokens=off: a wait is counted by one program where no note of it can be kept" {
  XDG_STATE_HOME=/dev/null/state expect 0 holdfast run x --wait 20s \
    --store "$at&tokens=off&max_ttl=2s" -- true
  says 'begin to wait anew' 'trying again for 20s'
}

@test "tokens=off: who holds a lock is not told what a newcomer may assume" {
  plain="$at&tokens=off&assume_fresh=yes"
  hold_it --store "$plain"
  for i in 1 2 3; do
    port=$(port_of "$i")
    stop_server "$i"
    start_server "$i" "$port"
  done
  expect 69 holdfast run y --store "$at&tokens=off" -- true
  says 'restarted, or another server is there now' 'votes again in' 'restart no other node before'
  [[ $output != *'Only where nothing'* ]]
  release || true
}

@test "what needs tokens is refused by a store without them before it waits" {
  plain="$at&tokens=off&assume_fresh=yes"
  hold_it --store "$plain"
  expect 69 holdfast run x --wait 2s --store "$plain" --fenced "file:$PWD/floors" -- touch ran
  says 'gives no tokens' 'a stale holder of x' '[unsupported]'
  expect 69 holdfast elect x --wait 2s --store "$plain" --value here -- touch ran
  says 'keeps no value' 'leave tokens=off out' '[unsupported]'
  [[ ! -e floors && ! -e ran ]]
  release
}

# The ACL file of docs/redlock.md.
acl_file() {
  sed -n '/^<!-- acl file -->$/,/^$/p' "$BATS_TEST_DIRNAME/../../docs/redlock.md" |
    grep -o 'user .*'
}

@test "the ACL file of the documentation is enough, and a wrong password is told as such" {
  acl_file >users.acl
  [[ $(wc -l <users.acl) -ge 2 ]]
  mkdir -p "$BATS_FILE_TMPDIR/6"
  start_server 6 '' --aclfile "$PWD/users.acl"
  echo secret | tee password >right
  one=redlock://holdfast@127.0.0.1:$(port_of 6)
  expect 0 holdfast redlock init --store "$one?$patient&password_file=$PWD/password"
  export HOLDFAST_STORE="$one?$patient&password_file=$PWD/password"
  hold_it
  expect 75 holdfast run x --wait 200ms -- true
  expect 0 holdfast ls
  says 1\ lock
  release
  expect 0 holdfast doctor
  echo wrong >password
  export HOLDFAST_STORE="redlock://holdfast:secret@127.0.0.1:$(port_of 6)?$patient"
  expect 0 holdfast run x -- "$HOLDFAST" run y -- true
  expect 0 holdfast run x --store "$one?$patient&password_file=$PWD/right" -- \
    sh -c '[ "${HOLDFAST_STORE#*secret}" = "$HOLDFAST_STORE" ]'
  export HOLDFAST_STORE="$one?$patient&password_file=$PWD/password"
  expect 69 holdfast run x -- true
  says WRONGPASS && [[ $output != *DURATION* ]]
  expect 69 holdfast redlock init
  says 'cannot be used' WRONGPASS
  [[ $output != *'did not answer'* ]]
  unset HOLDFAST_STORE
  expect 64 holdfast ls --store "$one"
  says password_file
  # Without the user, where the default one is off.
  for scheme in redlock redis; do
    for query in '' "?password_file=$PWD/right"; do
      expect 69 holdfast run x --store "$scheme://127.0.0.1:$(port_of 6)$query" -- true
      says "the URL has to name it: $scheme://USER@HOST?password_file=/PATH"
    done
  done
}
