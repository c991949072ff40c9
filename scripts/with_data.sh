#!/bin/sh
# Run a command with another value of `data` in params.yaml, then put params.yaml and dvc.lock back as they were:
#   scripts/with_data.sh public dvc repro
set -eu
data=$1
shift
before=$(mktemp -d)
cp params.yaml "$before"
[ ! -f dvc.lock ] || cp dvc.lock "$before"
trap 'cp "$before"/* .; rm -r "$before"' EXIT
trap 'exit 130' INT TERM
sed "s/^data: .*/data: $data/" "$before/params.yaml" > params.yaml
"$@"
