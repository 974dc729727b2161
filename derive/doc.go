// Package derive reads what one argument of a call would touch: a path, a
// command line, a URL or host, a query. A policy judges these derived
// parameters, never the raw argument tree, and the record keeps them, so that
// the judgement can be made again from the record alone.
//
// Every reader takes a string that an attacker chose and has the same shape: it
// returns the one thing the string means, or a Fault that says why there is not
// exactly one. A Fault is a fixed text, never a piece of the argument, and is a
// reason to deny: who would act on the argument may read it in the way the
// judge did not. The readers are pure, but for ResolvePath, which asks the file
// system; they take time linear in their input and bound what they accept.
package derive
