// Package wire reads and judges the bytes of one MCP stdio stream.
//
// It has two halves that know nothing of each other. [Reader] cuts a stream
// into frames and keeps every byte, so that what is relayed is what came.
// [Classify] says what a frame means, and above all whether it means only one
// thing: a frame that two honest readers could take differently is [Ambiguous],
// because the reader behind us may not be the one we imagined.
//
// A frame that is over the cap or not Exact still has a sender that may wait
// for an answer. [Scanner] reads such frames loosely, in constant memory, for
// the id and for the question whether anyone could find a call in them.
//
// Nothing here decides, logs or authors anything; the package has no notion of
// policy or of a session.
package wire
