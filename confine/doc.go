// Package confine keeps a server process to what it was granted: files by
// Landlock, the network and a few other system calls by seccomp, on Linux.
//
// [New] computes a [Plan] from what was asked for, the server's argv and the
// file system, and changes nothing. [Plan.Prepare] turns the start of the server
// into the start of a helper: the same program, which [RunHelper] recognises
// before anything else runs in it. The helper restricts itself, tells on a pipe
// what the kernel did, and becomes the server by execve(2). [Launch.Await] reads
// that as a [Report]: requested, enforced, and why not, for every [Control].
//
// Nothing degrades in silence. If a control that confinement rests on cannot be
// had, the server does not start, unless [Request.BestEffort] asked for that.
//
// The helper only narrows: it holds no privilege, is not set-user-ID, and whoever
// runs it by hand gets no more than what running the server directly gives.
package confine
