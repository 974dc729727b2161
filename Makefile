# The two commands that matter:
#
#   make demo   shows the main job on embedded parts; needs nothing but Go
#   make test   installs what the tests need, then runs all of them with -race
#
# Tools are pinned here and run through the module proxy; nothing is installed
# outside of this folder and the caches of go and npm.

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
VULNDB      = golang.org/x/vulndb

VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS    = -s -w $(if $(VERSION),-X github.com/aegis-aar/aegis/internal/cli.version=$(VERSION))
PLATFORMS  = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build demo test test-kernels interop-deps corpus fuzz bench man lint vuln cross clean

build: ## one static binary, bin/aegis
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/aegis ./cmd/aegis

demo: build ## the main job on embedded parts
	bin/aegis demo

# The race detector needs cgo and a C compiler; the product itself never does.
test: interop-deps ## everything, with the race detector
	test/setup.sh
	CGO_ENABLED=1 go test -race ./...

test-kernels: ## confinement on real kernels 6.1 and 6.12, in QEMU
	test/kernels/run

corpus: ## precision and recall of the inspection catalog, and what it blocks in text nobody here wrote
	go run ./inspect/internal/corpus/report

interop-deps: ## the real servers and the official TypeScript client
	test/interop/install

FUZZTIME ?= 20s
fuzz: ## every fuzz target, FUZZTIME each
	@set -e; for pkg in $$(go list ./...); do \
	  for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$pkg; \
	  done; \
	done

bench: ## medians of interleaved pairs; docs/benchmarks.md says what they mean
	go run ./bench

man: ## man pages, into bin/man
	go run ./internal/mangen bin/man

lint: ## gofmt, vet for every platform, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	GOOS=darwin go vet ./...
	GOOS=windows go vet ./...
	go run $(STATICCHECK) ./...

# What ships is checked: the binary and the libraries, not the tests' servers. The
# vulnerability data is built from the module that holds it, so that the
# module proxy is the only thing that must be reachable. What the toolchain's own
# standard library has is told and fails nothing: no change here can mend it, a
# newer Go does.
vuln: ## known vulnerabilities in what is called; passes with a word if the data cannot be had
	@db=$$(mktemp -d); trap 'rm -rf "$$db"' EXIT; \
	dir=$$(go mod download -json $(VULNDB)@latest | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
	if [ -z "$$dir" ] || ! go run $(VULNDB)/cmd/indexdb@latest -vulns "$$dir/data/osv" -out "$$db"; then \
	  echo "vuln: not checked: the vulnerability data could not be had"; exit 0; \
	fi; \
	if go run $(GOVULNCHECK) -db "file://$$db" ./cmd/... ./aar ./policy ./derive ./inspect ./lock ./confine >"$$db/found"; then cat "$$db/found"; exit 0; fi; \
	if ! grep -q '^Vulnerability #' "$$db/found" || grep -q '^  Module: ' "$$db/found"; then cat "$$db/found"; exit 1; fi; \
	grep -E '^Vulnerability #|^    (Found|Fixed) in:' "$$db/found"; \
	echo "vuln: these are of the Go standard library; build releases with the Go that mends them"

cross: ## the binary for every platform
	@set -e; for p in $(PLATFORMS); do \
	  echo "build $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o /dev/null ./cmd/aegis; \
	done

clean:
	rm -rf bin
