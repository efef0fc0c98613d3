#!/usr/bin/env bats

# What the program finds when it is started: signals, descriptors, limits, namespaces, privileges.

load setup

# as_somebody COMMAND: without privileges.
as_somebody() {
  HOLDFAST_STORE=local:$BATS_TEST_TMPDIR/theirs \
    setpriv --reuid 54321 --regid 54321 --clear-groups "$@"
}

# Somebody else gets a copy of the program: the folder with the build may be closed to others.
need_somebody() {
  [[ $EUID == 0 ]] || skip "NOT TESTED: only root can become somebody else"
  chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* && chmod 777 .
  install -m 755 "$HOLDFAST" program
  as_somebody test -w "$PWD" -a -x "$PWD/program" ||
    skip "NOT TESTED: somebody else cannot come to $PWD"
}

@test "a command that cannot be forked is 69, and nothing was run" {
  need_somebody
  # A thread that has just done its work may still count, and then no limit is met at the fork.
  for round in {1..10}; do
    for processes in 2 3 4 5 6 7 8; do
      code=0
      as_somebody prlimit --nproc=$processes timeout 60 ./program run x -- true 2>>said || code=$?
      [[ $code == 0 || $code == 69 ]]
    done
    ! grep -q 'cannot be started' said || break
  done
  grep 'cannot be started' said
  ! grep unexpected said
}

@test "a wait that may start no thread looks by itself" {
  need_somebody
  RUNMARK=$MARK as_somebody ./program run x -- "${until_go[@]}" 3>&- &
  until_true test -e held
  for processes in {4..14}; do
    code=0
    as_somebody timeout 60 prlimit --nproc=$processes ./program run x --wait 100ms -- true \
      2>>said || code=$?
    [[ $code == 75 || $code == 69 ]]
  done
  : >go
  wait $!
  grep 'timed out' said
  ! grep unexpected said
}

@test "a file for the machine that cannot be seen is 78, and not taken for none" {
  need_somebody
  mkdir -p etc/holdfast
  cp -a /etc/passwd /etc/group /etc/ld.so.cache etc
  echo "store = \"local:$PWD/theirs\"" >etc/holdfast/config.toml
  chmod 700 etc/holdfast
  unset HOLDFAST_CONFIG HOLDFAST_STORE HOME XDG_CONFIG_HOME
  in_etc=(unshare --mount sh -c 'mount --bind etc /etc && exec "$@"' -)
  "${in_etc[@]}" true || skip "NOT TESTED: nothing can be mounted here"
  as_other=(setpriv --reuid 54321 --regid 54321 --clear-groups ./program)
  expect 78 "${in_etc[@]}" "${as_other[@]}" run x -- true
  says '/etc/holdfast/config.toml' 'Permission denied' 'chmod 755'
  chmod 755 etc/holdfast
  expect 0 "${in_etc[@]}" "${as_other[@]}" run x -- sh -c 'echo "$HOLDFAST_STORE"'
  says "$PWD/theirs"
}

@test "a service without HOME reads the file of its user" {
  need_somebody
  mkdir -p etc home/.config/holdfast home/.local/state away/.config/holdfast
  cp -a /etc/group /etc/ld.so.cache etc
  echo "somebody:x:54321:54321::$PWD/home:/bin/sh" >etc/passwd
  echo "store = \"local:$PWD/theirs\"" >home/.config/holdfast/config.toml
  echo 'store = "nosuch://h"' >away/.config/holdfast/config.toml
  unset HOLDFAST_CONFIG HOLDFAST_STORE HOME XDG_CONFIG_HOME
  in_etc=(unshare --mount sh -c 'mount --bind etc /etc && exec "$@"' -)
  "${in_etc[@]}" true || skip "NOT TESTED: nothing can be mounted here"
  for home in '' away /nowhere; do
    as_other=(env ${home:+HOME=$home} setpriv --reuid 54321 --regid 54321 --clear-groups ./program)
    expect 0 "${in_etc[@]}" "${as_other[@]}" run x -- sh -c 'echo "store=$HOLDFAST_STORE"'
    [[ $home == /nowhere || $output == "store=local:$PWD/theirs" ]]
    [[ $home != /nowhere || $output != *theirs* ]]
  done
}

@test "the usual audit log of a user is made with its directories, and not in a dry run" {
  need_somebody
  export XDG_STATE_HOME=$PWD/none/state HOLDFAST_RUN_DIRECTORY=$PWD/theirs-run
  RUNMARK=$MARK as_somebody ./program run x --fenced "file:$PWD/floors" -- "${until_go[@]}" 3>&- &
  until_true test -e held
  replace=(./program deny x --raise-fence "file:$PWD/floors")
  expect 0 as_somebody "${replace[@]}" --dry-run
  [[ ! -e none ]]
  mkdir none
  expect 69 as_somebody "${replace[@]}" --dry-run
  says 'Permission denied'
  chmod 777 none
  expect 0 as_somebody "${replace[@]}"
  grep -q '"step":"freed"' none/state/holdfast-audit.log
  [[ $(stat -c %a none/state) == 700 ]]
  : >go
  wait $! || [[ $? == 76 ]]
}

@test "a file of the user that cannot be seen is told, and the program goes on" {
  unset HOLDFAST_CONFIG
  ln -s config config
  XDG_CONFIG_HOME=$PWD/config expect 0 holdfast run x -- true
  says "warning: $PWD/config/holdfast/config.toml" 'Too many levels'
  XDG_CONFIG_HOME=$PWD/config expect 0 holdfast doctor
  says 'was not read. Set HOME'
  XDG_CONFIG_HOME=$PWD/none expect 0 holdfast run x -- true
  [[ $output != *warning* ]]
}

# Leaves a process behind that nobody may trace: hidepid hides it from all but root.
untraceable='
import ctypes, os, time
if os.fork(): os.wait(); os._exit(0)
os.setsid()
ctypes.CDLL(None).prctl(4, 0)
if os.fork(): os._exit(0)
time.sleep(60)'

@test "what /proc hides from its own user is ended with the command" {
  need_somebody
  unshare --mount mount -t proc -o hidepid=2 proc /proc ||
    skip "NOT TESTED: /proc cannot be mounted here"
  export -f as_somebody
  export untraceable
  RUNMARK=$MARK expect 0 timeout 30 unshare --mount bash -c 'mount -t proc -o hidepid=2 proc /proc
    as_somebody ./program run x --grace 1s -- python3 -c "$untraceable"'
  is_gone
}

@test "check says that /proc does not show the run, and not that it is over" {
  need_somebody
  unshare --mount mount -t proc -o hidepid=2 proc /proc ||
    skip "NOT TESTED: /proc cannot be mounted here"
  export -f as_somebody
  expect 69 timeout 30 unshare --mount bash -c 'mount -t proc -o hidepid=2 proc /proc
    exec "$0" run x -- bash -c "as_somebody ./program check"' "$HOLDFAST"
  says 'is hidden from this user'
}

@test "a /proc of another pid namespace is refused" {
  unshare --pid --fork --mount-proc true || skip "NOT TESTED: no pid namespace can be made here"
  expect 69 unshare --pid --fork "$HOLDFAST" run x -- true
  expect 0 unshare --pid --fork --mount-proc "$HOLDFAST" run x -- true
}

@test "as pid 1 of a container run waits for the orphans of others" {
  unshare --pid --fork --mount-proc true || skip "NOT TESTED: no pid namespace can be made here"
  RUNMARK=$MARK unshare --pid --fork --mount-proc "$HOLDFAST" run x -- "${until_go[@]}" 3>&- &
  outside=$!
  until_true test -e held
  inside=$(pgrep -P $outside)
  nsenter --pid --target "$inside" sh -c 'sleep 0.1 & :' 3>&-
  # The guardian alone is left.
  until_true sh -c "test \$(ps -o pid= --ppid $inside | wc -l) = 1"
  : >go
  wait $outside
}

@test "a stopped guardian goes on when its wrapper is gone" {
  # Below another guardian: the kernel continues an orphan only when it has left its session.
  in_background run outer -- sh -c '"$HOLDFAST" run x -- sh -c ": >ready; sleep 60" & echo $! >inner
    sleep 30'
  until_true test -e ready
  until_true test -s inner
  inner=$(cat inner)
  guardian=$(pgrep -P "$inner")
  kill -STOP "$inner"
  kill -STOP "$guardian"
  kill -KILL "$inner"
  until_true sh -c "! kill -0 $guardian"
  kill -TERM $pid
  wait $pid || true
}

@test "a signal that was ignored at the start does not end the wait" {
  hold_it
  (trap '' HUP; RUNMARK=$MARK exec "$HOLDFAST" run x -- sh -c 'exit 3') 3>&- &
  waiter=$!
  until_true sh -c "'$HOLDFAST' ls --json | grep -q waiting"
  kill -HUP $waiter
  release
  code=0
  wait $waiter || code=$?
  [[ $code == 3 ]]
}

@test "closed standard descriptors never become files of the store" {
  holdfast ls
  for verb in ls doctor 'show x' 'run x --verbose -- true'; do
    RUNMARK=$MARK timeout 30 "$HOLDFAST" $verb <&- >&- 2>&- || true
  done
  [[ -z $(tr -d '0-9 \n' <"$BATS_TEST_TMPDIR/store/lock") ]]
  ! grep -rqa 'in local:' "$BATS_TEST_TMPDIR/store"
}

@test "the lock is kept while something of the command will not die" {
  need_somebody
  cp "$(command -v setpriv)" raise && chmod 4755 raise
  as_somebody ./raise --ruid 0 true ||
    skip "NOT TESTED: this file system has no set-user-id programs"
  RUNMARK=$MARK as_somebody ./program run x -- ./raise --ruid 0 sh -c ': >ready; sleep 60' 3>&- &
  until_true test -e ready
  guardian=$(marked | xargs -n1 sh -c 'pgrep -x holdfast-guard -P $0' | head -1)
  kill -KILL "$guardian"
  sleep 6
  expect 75 as_somebody ./program run x --no-wait -- true
  kill -KILL $(marked | xargs ps -o pid=,comm= -p | awk '$2 == "sleep" || $2 == "sh" {print $1}')
  wait $! && code=0 || code=$?
  [[ $code == 76 ]]
}

# switches PID: how often it has gone to sleep.
switches() { sed -n 's/^voluntary_ctxt_switches:[[:space:]]*//p' "/proc/$1/status"; }

@test "what may not be killed is not looked for all the time" {
  need_somebody
  cp "$(command -v setpriv)" raise && chmod 4755 raise
  as_somebody ./raise --ruid 0 true ||
    skip "NOT TESTED: this file system has no set-user-id programs"
  RUNMARK=$MARK as_somebody ./program run x --grace 100ms -- \
    ./raise --ruid 0 sh -c 'trap "" TERM; : >ready; sleep 60' 3>&- &
  until_true test -e ready
  guardian=$(marked | xargs -n1 sh -c 'pgrep -x holdfast-guard -P $0' | head -1)
  kill -KILL $(ps -o ppid= -p "$guardian")
  sleep 3
  before=$(switches "$guardian")
  sleep 3
  (($(switches "$guardian") - before < 50))
  kill -KILL $(marked | xargs ps -o pid=,comm= -p | awk '$2 == "sleep" || $2 == "sh" {print $1}')
  wait $! || true
}

@test "a limit of file sizes is an error of the store, and the command's own limit is its own" {
  limited='ulimit -f 8; exec "$HOLDFAST" run x --store "local:$PWD/small" --json -- true'
  expect 69 bash -c "$limited"
  json 'assert "too large" in a["error"]["message"], a'
  expect 153 holdfast run x -- bash -c 'ulimit -f 1; ulimit -c 0; exec dd if=/dev/zero of=big'
}

@test "a limit of address space is named" {
  bash -c 'ulimit -v 500000; exec "$HOLDFAST" version' ||
    skip "NOT TESTED: this program needs more address space by itself"
  expect 69 bash -c 'ulimit -v 500000; exec "$HOLDFAST" run x -- true'
  says 'data.mdb' 'ulimit -v'
}

@test "a small stack is enough" {
  expect 3 bash -c 'ulimit -c 0; ulimit -s 80; exec "$HOLDFAST" run x -- sh -c "exit 3"'
}

@test "a run below a run that holds the same lock is 75, not a wait without end" {
  expect 75 holdfast run x -- "$HOLDFAST" run x -- true
  [[ $output == *"wait for itself"* ]]
  expect 75 holdfast run x -- "$HOLDFAST" run y -- "$HOLDFAST" run z -- "$HOLDFAST" run x -- true
  [[ $output == *"wait for itself"* ]]
  HOLDFAST_OUTER=$(printf '%032d ' {1..3000}) expect 0 holdfast run x -- true
  expect 0 holdfast run x --shared -- "$HOLDFAST" run x --shared -- true
  expect 0 holdfast run x -- "$HOLDFAST" run y -- true
}

@test "a NAME or a command with blanks that was not quoted as it should be is explained" {
  expect 64 holdfast show my night job
  says 'too many arguments' 'Put a NAME with blanks in it in quotes'
  expect 127 holdfast run x -- 'echo hi'
  says 'echo hi: not found in PATH; give the program and its arguments as separate words'
  expect 127 holdfast run x -- nosuch-command
  [[ $output != *'separate words'* ]]
}

@test "a name that begins with a dash can be given after --" {
  expect 0 holdfast show -- -x
  [[ $output == *'"-x"'* ]]
  expect 64 holdfast deny -- -x
  [[ $output == *nobody* ]]
  expect 64 holdfast show -- x y
}

@test "doctor tells of pidfds where the store that it opened goes by them" {
  expect 0 holdfast doctor
  says pidfd
  run holdfast doctor --store "local:$PWD/not there"
  says 'boot id'
  [[ $output != *pidfd* ]]
}

# told_at NAME COMMAND: by `run` and whoever only looks, at the store NAME that cannot be written.
told_at() {
  local at="local:$PWD/$1" words
  shift
  for words in 'run x' doctor ls; do
    case $words in
      run*) expect 69 "$@" $words --store "$at" -- true ;;
      *) expect 69 "$@" $words --store "$at" ;;
    esac
    says "$PWD/$folder" "$reason" 'choose a path where you may write'
    [[ $output != *'; `holdfast run` creates it'* ]]
  done
}

@test "a store on a read-only file system is told as that, with what to do" {
  mkdir ro
  expect 0 holdfast run x --store "local:$PWD/ro/there" -- true
  mkdir -m 700 ro/empty
  read_only='mount --bind ro ro && mount -o remount,bind,ro ro'
  unshare --mount sh -c "$read_only" || skip "NOT TESTED: nothing can be mounted here"
  folder=ro reason='Read-only file system'
  for name in there empty new; do
    told_at "ro/$name" unshare --mount sh -c "$read_only"' && exec "$@"' - timeout 60 "$HOLDFAST"
  done
}

@test "a store that its user may not write is told as that, with what to do" {
  need_somebody
  mkdir -m 755 closed
  mkdir -m 555 locked
  chown 54321:54321 locked
  reason='Permission denied' folder=closed
  told_at closed/new as_somebody timeout 60 ./program
  folder=locked
  told_at locked as_somebody timeout 60 ./program
  expect 0 as_somebody ./program run x -- true
  for folder in theirs/floor theirs/data.mdb theirs/life; do
    mode=$(stat -c %a "$folder")
    chmod a-w "$folder"
    expect 69 as_somebody ./program run x -- true
    says "$PWD/$folder" "$reason" 'its owner and mode have to let you'
    expect 69 as_somebody ./program doctor
    says fault "$PWD/$folder" "$reason" 'its owner and mode have to let you'
    chmod "$mode" "$folder"
  done
}

@test "a store that will not open after the next boot is told before" {
  need_somebody
  expect 0 as_somebody ./program run x -- true
  chmod a-w theirs
  expect 0 as_somebody ./program run x -- true
  expect 0 as_somebody ./program doctor
  says warning "cannot create anything in $PWD/theirs: Permission denied" 'after the next boot'
  says 'chmod 0700 it'
  echo another >theirs/boot
  expect 69 as_somebody ./program run x -- true
  says "$PWD/theirs" 'Permission denied'
  chmod 0700 theirs
  expect 0 as_somebody ./program run x -- true
  expect 0 as_somebody ./program doctor
  [[ $output != *'cannot create files'* ]]
}

@test "doctor --json has the numbers of a local store" {
  hold_it
  expect 0 holdfast doctor --json
  json 'of = lambda s: {k: v for f in a["findings"] if f["subject"] == s
    for k, v in f["numbers"].items()}
assert of("data")["sessions"] == 1 and of("data")["used_bytes"] < of("data")["limit_bytes"], a
assert of("processes")["processes"] == 2 and of("life locks")["held"] == 1, a
assert of("file system")["free_bytes"] > 0 and of("token floor")["ceiling"] > 0, a
assert all(isinstance(f["numbers"], dict) for f in a["findings"]), a'
  release
}

@test "deny and break whose report cannot be written say that it was done" {
  for out in full closed; do
    hold_it --ttl 1h
    id=$(holdfast ls --sessions --json | python3 -c 'import json, sys
print(json.load(sys.stdin)["sessions"][0]["session"])')
    expect 69 unwritten $out deny x --why test
    says "session $id of" 'is denied; what it holds is free within' \
      'only this report of it cannot be written to standard output [unavailable]'
    expect 69 unwritten $out deny x --json
    json "assert [d['session'] for d in a['done']] == ['$id'] and a['done'][0]['already'], a"
    json 'assert a["error"]["exit"] == 69 and a["error"]["code"] == "unavailable", a'
    kill_wrapper "$holder"
    expect 69 unwritten $out break x
    says "session $id of" 'is removed; its locks are free; only this report of it cannot be written'
    expect 64 holdfast break --session "$id"
  done
}

@test "a fence that was raised or checked says so where its JSON cannot be written" {
  at="file:$PWD/floors"
  expect 69 unwritten full fence raise "$at" data 5 --json
  json 'assert "the floor is raised" in a["error"]["message"] and a["done"][0]["floor"] == 5, a'
  expect 69 unwritten full fence check "$at" data 7 --json
  json 'assert "is admitted" in a["error"]["message"] and a["done"][0]["newest"] == 7, a'
  expect 0 holdfast fence check "$at" data 8
  hold_it --fenced "$at"
  expect 69 unwritten full deny x --raise-fence "$at" --audit audit
  says 'deny --raise-fence: session ' 'is denied' 'is refused' 'free now' 'only this report'
  : >go
  wait "$holder" || [[ $? == 76 ]]
  hold_it --fenced "$at"
  expect 69 unwritten full deny x --raise-fence "$at" --audit audit --json
  json 'assert [d["step"] for d in a["done"]] == ["denied", "raised", "freed"], a'
  : >go
  wait "$holder" || [[ $? == 76 ]]
}

@test "a verb that changes nothing says of its report that it cannot be written" {
  for words in ls 'show x' doctor 'leader x --json'; do
    expect 69 unwritten full $words
    says 'standard output cannot be written'
  done
}
