# The only list of commands. Each target is one line or one script in .ci/.
include .ci/versions.mk

SHELL    := /bin/bash -eu -o pipefail
GO       ?= go
MODULE   := github.com/packetbench/packetbench
# The rooms by name, not ./...: npm packages may carry Go files of their own.
ROOMS    := $(foreach d,config contract actors supervisors apps,$(if $(wildcard $(d)),./$(d)/...)) $(foreach d,ui sidecar,$(if $(wildcard $(d)/*.go),./$(d)))
TAGS     := integration
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT   := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
EXE      := $(if $(filter Windows_NT,$(OS)),.exe)
BIN      := bin/packetbench$(EXE)
FUZZTIME ?= 10s
BENCH    ?= .
COUNT    ?= 1
# Static and without a C compiler, for us as for the release; only the race detector needs cgo.
export CGO_ENABLED ?= 0
# What Ergo itself races on (docs/adr/0001); a test run by hand wants the same variable.
export GORACE ?= suppressions="$(CURDIR)/.ci/race.supp"
RACE     := CGO_ENABLED=1 $(GO) test -race -json -timeout 15m
TALLY    := $(GO) run ./.ci/tally
# Everywhere, so that linting, building, testing and crossing share one entry of the build cache per package.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
GCIORDER := --custom-order -s standard -s default -s 'prefix($(MODULE))'
GOFILES   = $(shell git ls-files -co --exclude-standard '*.go')

.DEFAULT_GOAL := help
.PHONY: help run build ui sidecar dev gen gen-check fmt fmt-check fmt-go fmt-imports fmt-page lint fence modules vet staticcheck
.PHONY: shellcheck lint-page test test-race test-norace test-reference test-page conformance integration e2e fuzz bench cross deps ci clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

run: build ## build everything and run the service; prints the address to open (ARGS="--addr 127.0.0.1:0")
	exec $(BIN) serve $(ARGS)

build: ui sidecar ## page, sidecar and program into bin/ (UI=0 leaves the page out)
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./apps/packetbench

ui:
	@.ci/npm build ui

sidecar:
	@.ci/npm build sidecar

dev: build ## the service on loopback plus Vite with a proxy to it
	@.ci/dev $(BIN)

gen: ## contract to TypeScript, golden files
	@.ci/gen write

gen-check: ## fails when generated files are not what the contract says
	@.ci/gen check

fmt: ## write Go and TypeScript in the house's format
	$(GO) run $(GOFUMPT) -w $(GOFILES)
	$(GO) run $(GCI) write $(GCIORDER) $(GOFILES)
	@.ci/npm fmt ui
	@.ci/npm fmt sidecar

fmt-check: fmt-go fmt-imports fmt-page ## fails when a file is not in the house's format

fmt-go:
	@.ci/quiet 'not gofumpt; run make fmt' $(GO) run $(GOFUMPT) -l $(GOFILES)

fmt-imports:
	@.ci/quiet 'imports not in order std, others, ours; run make fmt' $(GO) run $(GCI) list $(GCIORDER) $(GOFILES)

fmt-page:
	@.ci/npm fmt-check ui
	@.ci/npm fmt-check sidecar

lint: fence modules vet staticcheck shellcheck lint-page ## house rules, modules, vet, staticcheck, shellcheck, eslint, tsc

fence: ## the house rules alone
	@$(GO) test -json -count=1 . | $(TALLY) go fence

modules:
	@$(GO) mod tidy -diff
	@$(GO) mod verify

vet:
	@$(GO) vet -tags '$(TAGS)' . ./.ci/tally $(ROOMS)

staticcheck:
	@$(GO) run $(STATICCHECK) -tags '$(TAGS)' . ./.ci/tally $(ROOMS)

shellcheck:
	@shellcheck $$(grep -lE '^#!.*sh' .ci/* 2>/dev/null)

lint-page:
	@.ci/npm lint ui
	@.ci/npm lint sidecar

test: test-race test-norace test-reference test-page ## unit and actor rings under the race detector, then what the detector cannot run, then vitest

test-race:
	@$(RACE) -shuffle=on -count=$(COUNT) -skip '^TestConformance' ./.ci/tally $(ROOMS) | $(TALLY) go test

test-norace:
	@.ci/norace

test-reference: ## the screen of a terminal against xterm.js itself
	@.ci/npm install ui
	@$(GO) test -json -count=1 -timeout 10m -tags reference -run '^TestReference' ./actors/terminal/screen | $(TALLY) go reference

test-page:
	@.ci/npm test ui
	@.ci/npm test sidecar

conformance: ## the contract suite over every transport
	@.ci/conformance

integration: build ## the whole program with real children, servers and a real keyring
	@.ci/integration

e2e: build ## the page in a real browser
	@.ci/npm e2e ui

fuzz: ## every fuzz target for FUZZTIME each (10s)
	@FUZZTIME=$(FUZZTIME) .ci/fuzz

bench: build ## figures of docs/performance.md (BENCH=regexp)
	@.ci/bench '$(BENCH)'

cross: ## linux, darwin and windows, amd64 and arm64, into tmp/cross
	@.ci/cross '$(LDFLAGS)'

deps: ## Debian packages of the rings when missing, npm packages by lockfile
	@.ci/deps $(DEBIAN)

ci: ## everything a merge needs, from a clean checkout; ends with "N passed, N failed"
	@bash .ci/run

clean: ## forget what was built
	rm -rf bin tmp ui/dist/assets ui/dist/index.html sidecar/dist/*
