// Package kernels runs the escape suite of test/confine on real kernels older
// than the one at hand, in QEMU with software emulation. `make test-kernels` runs
// it; plain `go test` skips it.
package kernels
