#!/usr/bin/env bats

# What the program finds when it is started: signals, descriptors, limits, namespaces, privileges.

needs_local=yes
load setup

# hold_it OPTIONS: somebody holds "x" until `release`.
hold_it() {
  rm -f held
  in_background run x "$@" -- sh -c ': >held; while [ ! -e go ]; do sleep 0.01; done'
  holder=$pid
  until_true test -e held
}
release() { : >go; wait "$holder"; }

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
  [[ ! -s $BATS_TEST_TMPDIR/store/lock ]]
  ! grep -rqa 'in local:' "$BATS_TEST_TMPDIR/store"
}
