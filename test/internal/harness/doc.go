// Package harness runs the real binary from tests and reads what it recorded,
// as a stranger would: with the commands and a JSON parser, without this
// project's own packages.
package harness
