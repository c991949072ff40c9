#!/bin/sh
# Run a command with another value of `data` in params.yaml, then put this line and dvc.lock back as they were:
#   scripts/with_data.sh public dvc repro
# What else is edited in params.yaml meanwhile stays, and so does the line itself if it is edited.
set -eu
ours="data: $1"
shift
theirs=$(sed -n '/^data: /{p;q;}' params.yaml)
if [ -z "$theirs" ]; then
  echo "$0: params.yaml: no line begins with 'data: '" >&2
  exit 1
fi
before=$(mktemp -d)
[ ! -f dvc.lock ] || cp dvc.lock "$before"

# Turns one line of params.yaml into another.
turn() {
  FROM=$1 TO=$2 awk '$0 == ENVIRON["FROM"] { $0 = ENVIRON["TO"] } { print }' params.yaml > "$before/params.yaml" &&
    cat "$before/params.yaml" > params.yaml
}

restore() {
  status=$?
  trap '' INT TERM HUP
  if turn "$ours" "$theirs" && { [ ! -f "$before/dvc.lock" ] || cp "$before/dvc.lock" .; }; then
    rm -r "$before"
  else
    echo "$0: params.yaml and dvc.lock are not as they were; copies are in $before" >&2
    status=1
  fi
  exit "$status"
}
trap restore EXIT
trap 'exit 130' INT TERM HUP
turn "$theirs" "$ours"
"$@"
