#!/usr/bin/env bash
# Applies one patch at a time, each of which removes a guard, and wants the chaos suite to fail within its first 10,000
# seeds. A patch that no longer applies, or that nothing catches, fails the run. Names as arguments limit it to these.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
caught=0 missed=0
patches=("${@/#/tests/mutants/}")
[ $# -gt 0 ] || patches=(tests/mutants/*.patch)

for patch in "${patches[@]}"; do
	patch=${patch%.patch}.patch
	rm -rf "${work:?}/tree" && mkdir "$work/tree"
	cp -r --parents go.mod go.sum shared/checkpoint shared/mirror shared/mm2 shared/offsetsync shared/tracker shared/watermark tests/chaos "$work/tree"
	name=$(basename "$patch" .patch)
	if ! patch -s -p1 -F0 -d "$work/tree" <"$patch" >"$work/log" 2>&1; then
		echo "$name: does not apply"
		cat "$work/log"
		missed=$((missed + 1))
		continue
	fi
	if ! (cd "$work/tree" && go test -vet=off -c -o "$work/chaos.test" ./tests/chaos) >"$work/log" 2>&1; then
		echo "$name: does not compile"
		cat "$work/log"
		missed=$((missed + 1))
		continue
	fi
	if (cd "$work/tree/tests/chaos" && timeout 120 "$work/chaos.test" -test.run 'TestSchedules' -schedules 10000 -seed 1) >"$work/log" 2>&1; then
		echo "$name: NOT CAUGHT in 10,000 schedules"
		missed=$((missed + 1))
	elif ! grep -qE 'seed [0-9]+: |^panic: ' "$work/log"; then
		echo "$name: failed for another reason"
		tail -n 5 "$work/log"
		missed=$((missed + 1))
	else
		printf '%-28s caught: %s\n' "$name" "$(grep -m1 -oE 'seed [0-9]+: [^(]*' "$work/log" || tail -n 1 "$work/log")"
		caught=$((caught + 1))
	fi
done
echo "$caught passed, $missed failed"
[ "$missed" -eq 0 ]
