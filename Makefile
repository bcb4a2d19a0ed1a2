# Versions of every tool that is not a Go dependency, in one place.
GOLANGCI_LINT := v2.12.2
MOTO          := 5.2.1
KAFKA         := 4.1.0
LOG4J_SLF4J   := 2.24.3
SAM           := 1.170.0

BIN   := bin
TOOLS := .tools
N     ?= 20000
SEED  ?= 1
ADAPTERS ?= 16
FUZZ  ?= 10s

FUNCTIONS := mirror checkpoint operator
LAMBDA    := -trimpath -tags lambda.norpc -ldflags "-s -w"

.PHONY: help build demo test race lint fmt fuzz bench chaos mutants sam java integration clean $(FUNCTIONS:%=build-%)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(FUNCTIONS:%=build-%) ## build the functions for this machine into bin/

$(FUNCTIONS:%=build-%): build-%:
	CGO_ENABLED=0 go build $(LAMBDA) -o $(BIN)/$* ./functions/$*

demo: build ## mirror two embedded clusters, kill the function twice, compare both logs (Go alone, under a minute)
	go run ./infra/local -demo

test: ## unit tests: no network but loopback, under a minute
	go test -shuffle=on ./...

race: ## unit tests under the race detector
	go test -race -shuffle=on ./...

lint: $(TOOLS)/bin/golangci-lint ## golangci-lint with the layering rules, and a tidy go.mod
	$(TOOLS)/bin/golangci-lint run --build-tags integration,java ./...
	go mod tidy -diff

fmt: $(TOOLS)/bin/golangci-lint ## format
	$(TOOLS)/bin/golangci-lint fmt

fuzz: ## each fuzz target for FUZZ, a time or a count (10s; 20000x)
	@grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$file); do \
			echo "$$target ($$(dirname $$file))"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) ./$$(dirname $$file) || exit 1; \
		done; \
	done

bench: ## the benchmarks whose figures stand in docs/performance.md
	go test -run '^$$' -bench . -benchmem ./shared/kafkaevent ./shared/tracker ./shared/offsetsync ./tests/bench

chaos: ## play N seeded fault schedules from SEED on; ADAPTERS more with the real adapters over embedded brokers
	go test ./tests/chaos -run 'TestSchedules|TestSameSeedSameSchedule|TestMinimise' -v -timeout 90m -schedules $(N) -seed $(SEED)
	go test ./tests/adapters -timeout 30m -adapters $(ADAPTERS)

mutants: ## remove one guard at a time and see the chaos suite fail
	tests/mutants/run.sh

sam: ## lint and build the deployment template, test what is built (Python)
	SAM=$(SAM) TOOLS=$(abspath $(TOOLS)) infra/sam/check.sh

# sam build calls these: it sets ARTIFACTS_DIR and wants a binary for Lambda's arm64 named bootstrap there.
build-MirrorFunction: FUNCTION := mirror
build-CheckpointFunction: FUNCTION := checkpoint
build-OperatorFunction: FUNCTION := operator
build-MirrorFunction build-CheckpointFunction build-OperatorFunction:
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build $(LAMBDA) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$(FUNCTION)

java: ## Java's OffsetSyncStore answers random histories as ours does (Java 17, Maven)
	go test -tags java -count=1 -v ./tests/java

integration: ## two real Kafka brokers and a second DynamoDB emulator (Java 17, Maven, Python)
	KAFKA=$(KAFKA) LOG4J_SLF4J=$(LOG4J_SLF4J) MOTO=$(MOTO) TOOLS=$(abspath $(TOOLS)) tests/integration/run.sh

clean: ## remove what the other targets made
	rm -rf $(BIN) $(TOOLS)

$(TOOLS)/bin/golangci-lint: Makefile
	GOBIN=$(abspath $(TOOLS))/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	@touch $@
