// Package inspect looks at what servers return and says what in it is dangerous
// to hand on: control sequences, secrets, addresses that carry data away, text
// that tries to instruct a model.
//
// A [Catalog] holds the rules and the lists. [Catalog.Inspect] runs them on one
// JSON-RPC response and reports findings, and either the response to send
// instead, with what was found removed in place, or the finding that must
// replace it by an error. Which findings there are depends on the bytes and the
// tool's [Declaration]; the [Posture] only decides what is done about them. The
// relay and the offline analyser run the same code and so agree on the same
// bytes.
//
// Every string of the response is looked at, on the token stream: both values
// of a duplicated member, member names, strings in places no version of the
// protocol defines. What no tokeniser accepts is looked at as text. Only base64
// data of content blocks is passed over, with a note. docs/inspection.md lists
// every rule, every exemption and everything that is not inspected.
//
// Nothing of the text inspected leaves the package: a [Finding] holds redacted
// snippets, entries of our lists, code points and places. The time is linear in
// the text, whatever it holds, and text without findings costs no allocation.
package inspect
