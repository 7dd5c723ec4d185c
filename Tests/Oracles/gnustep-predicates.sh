#!/usr/bin/env bash
# Compares the predicate cases with GNUstep's NSPredicate, an implementation independent of ours.
# Needs Debian's gobjc and libgnustep-base-dev. usage: gnustep-predicates.sh [--propose]
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
folder=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cd "$build"
# The flags of gnustep-config must be split into words.
gcc $(gnustep-config --objc-flags) -std=gnu11 -w "$folder/gnustep-predicates.m" -o evaluator $(gnustep-config --base-libs)
python3 "$folder/check-predicate-cases.py"
python3 "$folder/gnustep-predicates.py" "$build/evaluator" "$@"
