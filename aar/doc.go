// Package aar writes, reads and verifies the Agent Action Record, document v0.1,
// schema version 2: a hash-chained, ed25519-signed record of what an agent's
// tools were asked to do and how that was decided. "The specification" in this
// package is that document; docs/record.md tells what it says, docs/deviations.md
// where this package departs from it.
//
// A [Writer] appends the Lines of one Session to a [Sink], such as a [FileSink].
// Each Call gets an intent before it runs ([Writer.Begin], [Call.Durable]) and
// exactly one outcome ([Call.End], [Call.Release]). [Verify] walks a record and
// judges it Verified, Tampered or Indeterminate; [ParseLine] reads one [Line].
package aar
