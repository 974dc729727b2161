// Package lock pins what an MCP server declares of itself: its tools, resources,
// prompts and instructions. A human approves the pin once, and every later look
// at the server is compared with it.
//
// A [Surface] is what a server sent, byte for byte; [CaptureStdio] and
// [CaptureHTTP] obtain one. [New] makes a [Lock] of it, [Parse] reads one back
// and refuses whatever does not add up, [Compare] tells in what two locks
// differ, fact by fact, and a [Gate] does so page by page in a running session.
//
// A lock holds hashes, not texts: SHA-256 of the RFC 8785 form of what was sent.
// Formatting, the order of members and the spelling of numbers are therefore no
// drift; the order of arrays and every character of every string are. Who wants
// to see old text beside new keeps it privately in [Texts].
//
// docs/lock.md is the reference of the format and of the drift classes.
package lock
