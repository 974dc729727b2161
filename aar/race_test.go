//go:build race

package aar

// Under the race detector a signature costs many times what it does without.
const changesPerByte = 2
