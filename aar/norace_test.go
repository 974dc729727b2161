//go:build !race

package aar

const changesPerByte = 6
