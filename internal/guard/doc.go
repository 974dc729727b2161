// Package guard is what `aegis guard` adds to the relay: it rules on what the
// server answers, words the errors that stand in for what is blocked, and tells
// what was found. The catalog is that of package inspect, the pins those of
// package lock; the relay is package interpose's.
package guard
