#!/usr/bin/env bash
# Fetches two real brokers, a real MirrorMaker 2 and a second DynamoDB emulator, once per version, and runs the integration tests against them.
# It needs Go, Java 17, Maven and Python. KAFKA, LOG4J_SLF4J and MOTO are versions, TOOLS the folder to keep things in;
# `make integration` sets them. RUN, if set, is a pattern of tests, SEED what everything random in them comes from, SOAK how long TestSoak goes on.
set -euo pipefail
cd "$(dirname "$0")"
: "${KAFKA:?version of Kafka}" "${LOG4J_SLF4J:?version of log4j-slf4j-impl}" "${MOTO:?version of moto}" "${TOOLS:?folder for tools}"

for tool in go java mvn python3; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: the integration tests need Go, Java 17, Maven and Python" >&2; exit 1; }
done

# install NAME COMMAND... runs a command that fills the folder in $dir, unless an earlier run did; the folder appears whole
# or not at all. What the command prints is shown only when it does not work.
install() {
	local final=$TOOLS/$1
	shift
	[[ -d $final ]] && return
	dir=$final.part
	rm -rf "$dir"
	mkdir -p "$dir"
	"$@" >"$TOOLS/install.log" 2>&1 || { tail -n 40 "$TOOLS/install.log" >&2; exit 1; }
	mv "$dir" "$final"
}

kafka() {
	mvn --batch-mode --no-transfer-progress --file kafka/pom.xml -Dkafka="$KAFKA" -Dlog4j="$LOG4J_SLF4J" \
		dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir"
}

# A folder of packages is all that is needed, so that a machine without the venv module serves as well. A virtual
# environment cannot be moved into place.
moto() {
	local pip=(python3 -m pip)
	if python3 -m venv "$TOOLS/pip"; then
		pip=("$TOOLS/pip/bin/python" -m pip)
	fi
	"${pip[@]}" install --quiet --disable-pip-version-check --target "$dir" "moto[server]==$MOTO"
}

mkdir -p "$TOOLS"
install "kafka-mm2-$KAFKA" kafka
install "moto-$MOTO" moto

# What the brokers write goes with the run, however it ends.
TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
export TMPDIR TIDEMARK_KAFKA=$TOOLS/kafka-mm2-$KAFKA TIDEMARK_MOTO=$TOOLS/moto-$MOTO TIDEMARK_MIRROR=$TMPDIR/mirror
export TIDEMARK_CHECKPOINT=$TMPDIR/checkpoint TIDEMARK_OPERATOR=$TMPDIR/operator
CGO_ENABLED=0 go build -trimpath -tags lambda.norpc -o "$TIDEMARK_MIRROR" ../../functions/mirror
CGO_ENABLED=0 go build -trimpath -tags lambda.norpc -o "$TIDEMARK_CHECKPOINT" ../../functions/checkpoint
CGO_ENABLED=0 go build -trimpath -tags lambda.norpc -o "$TIDEMARK_OPERATOR" ../../functions/operator
go test -tags integration -count=1 -v -timeout 20m -parallel 6 -run "${RUN:-.}" ./... -seed "${SEED:-1}" -soak "${SOAK:-3m}"
