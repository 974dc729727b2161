// Package shape recognises what an MCP tool does from the names its author
// chose: the tool's own name and those of its properties. Nothing else of a
// definition is believed; descriptions are prose and can be turned against the
// reader.
//
// There are two readings of one table. RecogniseContract is the guard
// contract's: it gives the capabilities that a lock pins, so it must never
// move. Recognise is what a policy judges by; it knows more names and splits
// them finer, since a shape that is missed is a call nobody judged. Everything
// the contract's reading finds, Recognise finds too.
package shape
