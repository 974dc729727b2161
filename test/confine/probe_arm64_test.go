//go:build linux

package confine

// machineProbes: arm64 has no second table that a 64-bit process could enter.
var machineProbes []probe
