#!/usr/bin/env bash
# Lints and builds the deployment template and runs tests/template on what was built. It needs Go, make and Python, and no
# AWS account. SAM is the version of aws-sam-cli, TOOLS the folder to keep it in; `make sam` sets them.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${SAM:?version of aws-sam-cli}" "${TOOLS:?folder for tools}"

for tool in go make python3; do
	command -v "$tool" >/dev/null || { echo "$tool is missing: checking the template needs Go, make and Python" >&2; exit 1; }
done

# A folder of packages rather than a virtual environment, so that it can appear whole or not at all, and so that a machine
# without the venv module serves as well.
packages=$TOOLS/sam-$SAM
if [[ ! -d $packages ]]; then
	mkdir -p "$TOOLS"
	rm -rf "$packages.part"
	pip=(python3 -m pip)
	if python3 -m venv "$TOOLS/pip" >/dev/null 2>&1; then
		pip=("$TOOLS/pip/bin/python" -m pip)
	fi
	"${pip[@]}" install --quiet --disable-pip-version-check --target "$packages.part" "aws-sam-cli==$SAM"
	mv "$packages.part" "$packages"
fi

# A region, for the linter knows which has what; no home folder to write to, and nothing to report to anybody.
export AWS_DEFAULT_REGION=${AWS_DEFAULT_REGION:-us-east-1} SAM_CLI_TELEMETRY=0 __SAM_CLI_APP_DIR=$TOOLS/sam-home
mkdir -p "$__SAM_CLI_APP_DIR"
sam() { PYTHONPATH=$packages python3 -m samcli "$@"; }

sam validate --lint
PYTHONPATH=$packages python3 infra/sam/parameters.py infra/mm2import/testdata/*.toml
sam build --build-in-source
TIDEMARK_TEMPLATE=$PWD/.aws-sam/build/template.yaml go test -count=1 ./tests/template
